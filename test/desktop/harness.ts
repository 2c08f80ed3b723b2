import { EventEmitter } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { runDesktop } from '../../main/desktop/desktop.ts';
import { createKeychain, createKeyFile, type KeychainDeps } from '../../main/desktop/keychain.ts';
import type { LoginItem } from '../../main/desktop/login-item.ts';
import { createPreferences, type JsonFile } from '../../main/desktop/preferences.ts';
import { createManualClock, type ManualClock } from '../support/clock.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { createFakeElectron, type FakeElectron } from './fake-electron.ts';
import { createFakeHost, type FakeHost } from './fixtures.ts';

type Deps = Parameters<typeof runDesktop>[0];

/** A file in memory. */
export function memoryFile(first: unknown = null): JsonFile & { readonly now: () => unknown } {
  let value = first;
  return {
    now: () => value,
    read: () => value,
    write(next) {
      value = structuredClone(next);
    },
  };
}

/** The keychain's file, and what a write has kept aside. */
export function keyFile(first: string | null = null) {
  const folder = temporaryDirectory();
  const path = join(folder, 'keychain');
  if (first !== null) writeFileSync(path, first);
  return {
    ...createKeyFile(path),
    get old() {
      const others = readdirSync(folder).filter((name) => name !== 'keychain');
      return others.map((name) => readFileSync(join(folder, name), 'utf8'));
    },
  };
}

export interface DesktopScene extends Partial<Pick<Deps, 'claimData' | 'env' | 'platform'>> {
  readonly clock?: ManualClock;
  readonly preferences?: JsonFile;
  readonly crashes?: JsonFile;
  readonly keyFile?: KeychainDeps['file'];
  readonly lostKeys?: readonly string[];
  readonly updater?: Deps['updater'];
  readonly host?: FakeHost;
  /** Whether a panel shows the tray; it does, if it is left out. */
  readonly panel?: { readonly isThere: boolean };
  /** The link to a gateway that another process runs. */
  readonly elsewhere?: string;
  /** The start waits for something, and is not waited for. */
  readonly isHeldUp?: boolean;
  readonly loginItem?: LoginItem | null;
  /** Started at login, without its window. */
  readonly isHidden?: boolean;
  /** Behind the program's name. */
  readonly args?: readonly string[];
  readonly prepare?: (fake: FakeElectron) => void;
}

/** Lets everything that is due now happen. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await setImmediate();
}

/** The shell on a fake Electron with a fake host, started. */
export async function startDesktop(scene: DesktopScene = {}) {
  const platform = scene.platform ?? 'linux';
  const fake = createFakeElectron(platform);
  const { safeStorage } = fake.electron;
  const host = scene.host ?? createFakeHost();
  const clock = scene.clock ?? createManualClock();
  const logged: string[] = [];
  let made = 0;
  let startsAtLogin = false;
  const events = new EventEmitter();
  if (scene.isHidden === true) fake.app.switches.add('hidden');
  scene.prepare?.(fake);
  const keychain = createKeychain({ safeStorage, platform, file: scene.keyFile ?? keyFile() });
  const started = runDesktop({
    electron: fake.electron,
    claimData: scene.claimData ?? (() => undefined),
    compose() {
      made++;
      const log = (_level: string, event: string) => void logged.push(event);
      const own = { host, keychain, lostKeys: scene.lostKeys ?? [], log };
      const link = scene.elsewhere;
      return Promise.resolve(
        link === undefined ? { kind: 'own', ...own } : { kind: 'elsewhere', link },
      );
    },
    platform,
    env: scene.env ?? {},
    argv: ['inglenook', ...(scene.args ?? [])],
    iconsDirectory: '/icons',
    hasTrayPanel: () => Promise.resolve(scene.panel?.isThere ?? true),
    clock,
    events,
    preferences: createPreferences(scene.preferences ?? memoryFile()),
    crashFile: scene.crashes ?? memoryFile(),
    updater: scene.updater ?? null,
    dataDirectory: '/data',
    logsDirectory: '/data/logs',
    loginItem:
      scene.loginItem === undefined
        ? { isOn: () => startsAtLogin, set: (isOn) => void (startsAtLogin = isOn) }
        : scene.loginItem,
  });
  if (scene.isHeldUp !== true) await started;
  const tray = () => the(fake.trays.at(-1), 'tray');
  return {
    ...fake,
    ...fake.seen,
    host,
    clock,
    keychain,
    /** Settles when the start has ended. */
    started,
    /** Events of the log. */
    logged,
    /** Throws an error where nothing catches it. */
    crash: (error: unknown) => events.emit('uncaughtException', error),
    /** As the system does with what still runs when a session ends. */
    terminate: () => events.emit('SIGTERM'),
    hostsMade: () => made,
    window: () => the(fake.windows.at(-1), 'window'),
    tray,
    /** Clicks an entry of the tray's menu, by the beginning of its label, and lets it act. */
    choose: async (label: string) => {
      tray().menu.click(label);
      await settle();
    },
  };
}

function the<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`there is no ${what}`);
  return value;
}
