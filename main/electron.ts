import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import * as electron from 'electron';
import { toolEnvironment } from './agent/telemetry/tool-process.ts';
import { openDatabase } from './app/database.ts';
import { createHost } from './app/app.ts';
import { tuneGarbageCollector } from './platform/process.ts';
import { askForLink } from './cli/open.ts';
import { EXIT } from './cli/command.ts';
import {
  dataDirectory,
  fileProblem,
  isFileProblem,
  openDataDirectory,
} from './config/data-directory.ts';
import { loadSavedConfig } from './config/load.ts';
import { readSettings } from './config/settings-file.ts';
import { type GatewayPlace, runDesktop } from './desktop/desktop.ts';
import { createKeychain, createKeyFile } from './desktop/keychain.ts';
import { createLoginItem } from './desktop/login-item.ts';
import { createJsonFile, createPreferences } from './desktop/preferences.ts';
import type { OwnHost } from './desktop/shell.ts';
import { createTrayPanel } from './desktop/tray.ts';
import type { UpdateSource } from './desktop/system.ts';
import { updateMeans } from './desktop/updates.ts';
import { createUtilityHelper } from './desktop/utility-helper.ts';
import { withTimeout } from './platform/async.ts';
import { systemClock } from './platform/clock.ts';
import { claimDataDirectory, type DataLock, takenText } from './platform/data-lock.ts';
import { readTextFile } from './platform/files.ts';
import { createLog, fileSink } from './platform/log.ts';

const dataDir = dataDirectory(process.env, process.platform);
const logsDirectory = join(dataDir, 'logs');
const { env, execPath, platform } = process;

const { app, powerMonitor, safeStorage, utilityProcess } = electron;

tuneGarbageCollector();
// Not awaited: Electron becomes ready only after this module has been evaluated.
void runDesktop({
  electron,
  claimData,
  compose,
  platform,
  env,
  argv: process.argv,
  events: process,
  clock: systemClock,
  preferences: createPreferences(createJsonFile(join(dataDir, 'desktop/preferences.json'))),
  crashFile: createJsonFile(join(dataDir, 'desktop/crashes.json')),
  updater: findUpdater(),
  dataDirectory: dataDir,
  logsDirectory,
  loginItem: createLoginItem({ app, platform, env, execPath }),
  iconsDirectory: join(import.meta.dirname, 'icons'),
  hasTrayPanel: createTrayPanel(platform),
});

/** Null for a build without an update address. */
function findUpdater(): UpdateSource | null {
  if (!app.isPackaged) return null;
  const feed = readTextFile(join(process.resourcesPath, 'app-update.yml'));
  const means = updateMeans(platform, feed);
  const load = async () => (await import('electron-updater')).default.autoUpdater;
  return means === null ? null : { means, load };
}

/** Inside the data directory, so that the lock allows one instance per data directory. */
function claimData(): void {
  const userData = join(dataDir, 'desktop');
  mkdirSync(userData, { recursive: true, mode: 0o700 });
  app.setPath('userData', userData);
}

/** A host of its own, unless a gateway runs already with this data directory. */
async function compose(): Promise<GatewayPlace> {
  const claim = claimDataDirectory(dataDir, Date.now());
  if (claim.kind === 'claimed') {
    try {
      return { kind: 'own', ...(await openHost(claim.lock)) };
    } catch (error) {
      // The owner may try again.
      claim.lock.release();
      throw isFileProblem(error) ? new Error(fileProblem(error, dataDir), { cause: error }) : error;
    }
  }
  const asked = await askForLink(dataDir);
  if (asked.kind === 'answered') return { kind: 'elsewhere', link: asked.body.link };
  const isStarting = asked.exitCode === EXIT.notRunning;
  throw new Error(isStarting ? takenText(dataDir, claim.owner) : asked.message);
}

/** A desktop may ask its owner for a password at login, and a gateway cannot wait for that. */
const KEYCHAIN_LIMIT_MS = 10_000;

async function openHost(lock: DataLock): Promise<OwnHost> {
  const unsafe = openDataDirectory(process.env, process.platform);
  const keychain = createKeychain({
    safeStorage,
    platform,
    file: createKeyFile(join(dataDir, 'desktop/keychain')),
  });
  const isSealed = readSettings(dataDir).lost.length > 0;
  const limit = { clock: systemClock, ms: KEYCHAIN_LIMIT_MS };
  const opened = isSealed ? await withTimeout(keychain.open(), limit) : null;
  const box = opened?.kind === 'settled' ? opened.value : null;
  const loaded = loadSavedConfig(process.env, dataDir, box);
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  const { logLevel, logFormat } = loaded.config.gateway;
  const log = createLog({
    level: logLevel,
    format: logFormat === 'auto' ? 'json' : logFormat,
    write: fileSink(logsDirectory),
  });
  for (const warning of [...unsafe, ...loaded.warnings]) log('warn', warning);
  const host = await createHost(
    { loaded, dataDirectory: dataDir, windowDirectory: join(import.meta.dirname, '../window') },
    {
      openDatabase,
      hostActivity: {
        userIdleMs: () => Promise.resolve(powerMonitor.getSystemIdleTime() * 1000),
        isOnBattery: () => Promise.resolve(powerMonitor.isOnBatteryPower()),
      },
      startHelper: createUtilityHelper(utilityProcess, toolEnvironment(env)),
      secretBox: box,
      clock: systemClock,
      random: Math.random,
      log,
      onPortTaken: (message) => log('warn', 'port_taken', { why: message }),
      lock,
    },
  );
  for (const notice of host.notices) log('warn', notice);
  host.askForModels();
  return { host, keychain, lostKeys: loaded.lost, log };
}
