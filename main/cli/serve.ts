import { join } from 'node:path';
import { HOSTED_IDS } from '#shared/ids.ts';
import { createHostActivity } from '../agent/availability/host-activity.ts';
import { createHost, type Host, WINDOW_DIRECTORY } from '../app/app.ts';
import { ownedHost } from '../app/owned-host.ts';
import { stopOnSignal } from '../app/shutdown.ts';
import { dataDirectory, inUsableDirectory } from '../config/data-directory.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { readSettings } from '../config/settings-file.ts';
import { systemClock } from '../platform/clock.ts';
import { claimDataDirectory, takenText } from '../platform/data-lock.ts';
import { createFileLog } from '../platform/log.ts';
import { openStore } from '../registry/store/open-store.ts';

type Addresses = Awaited<ReturnType<Host['start']>>;

const say = (text: string) => process.stdout.write(`${text}\n`);
const warn = (text: string) => process.stderr.write(`${text}\n`);

/** Runs the gateway under plain Node until a signal ends it; exit code 1 if it cannot start. */
export async function runHeadless(env: NodeJS.ProcessEnv): Promise<void> {
  const directory = dataDirectory(env, process.platform);
  await inUsableDirectory(directory, () => run(env, directory));
}

async function run(env: NodeJS.ProcessEnv, directory: string): Promise<void> {
  const settings = readSettings(directory, Date.now());
  const loaded = loadConfig(env, settings.tree);
  if (loaded.kind === 'refused') {
    for (const problem of loaded.problems) warn(problem);
    process.exitCode = 1;
    return;
  }
  const claim = claimDataDirectory(directory, Date.now());
  if (claim.kind === 'taken') {
    warn(takenText(directory, claim.owner));
    process.exitCode = 1;
    return;
  }
  if (claim.warning !== null) warn(`Warning: ${claim.warning}`);
  for (const warning of [...settings.warnings, ...loaded.warnings]) warn(`Warning: ${warning}`);
  const plain = await createHost(
    { loaded, dataDirectory: directory, windowDirectory: WINDOW_DIRECTORY },
    {
      openStore,
      surroundings: createHostActivity({ env, platform: process.platform, clock: systemClock }),
      clock: systemClock,
      random: Math.random,
      log: createFileLog(join(directory, 'logs'), loaded.config.gateway.logLevel),
      onPortTaken: warn,
    },
  );
  const host = ownedHost(plain, claim.lock);
  for (const notice of host.notices) warn(`Warning: ${notice}`);
  const addresses = await startOrWarn(host);
  if (addresses === null) return;
  stopOnSignal(() => host.stop(), say);
  say(`Switchyard runs. Base URL for your apps: ${addresses.baseUrl}`);
  say(`Window: ${host.controlLink()}`);
  say('  (the link gives control once, for 10 minutes; "switchyard open" makes a new one)');
  if (isEmpty(loaded.config)) sayNextSteps(loaded.config.agent.enabled);
}

async function startOrWarn(host: Host): Promise<Addresses | null> {
  try {
    return await host.start();
  } catch (error) {
    warn(error instanceof Error ? error.message : 'The gateway could not start.');
    process.exitCode = 1;
    return null;
  }
}

function isEmpty(config: Config): boolean {
  return [...HOSTED_IDS, 'local' as const, 'ondemand' as const].every(
    (id) => config[id].baseUrl === null,
  );
}

function sayNextSteps(isAgentOn: boolean): void {
  say(
    isAgentOn
      ? '\nNothing is configured yet. An engine on this machine is found by itself and, where there is a GPU, serves within seconds.\nUntil something serves, every chat completion gets a 503. For anything else stop it, set one of these, start again:'
      : '\nNothing is configured yet, so every chat completion gets a 503. Stop it, set one of these, start again:',
  );
  say(
    '  SWITCHYARD_LOCAL_ENGINE_URL=http://127.0.0.1:11434      an engine on this machine (here Ollama)',
  );
  say(
    '  SWITCHYARD_HOSTED_A_BASE_URL=https://…/v1  with SWITCHYARD_HOSTED_A_API_KEY and SWITCHYARD_HOSTED_A_MODEL',
  );
  say('"switchyard --help" lists every setting.');
}
