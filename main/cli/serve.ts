import { SIGN_IN_LINK } from '#shared/lifetimes.ts';
import type { StatusReport } from '#shared/status.ts';
import { createHostActivity } from '../agent/availability/host-activity.ts';
import { openDatabase } from '../app/database.ts';
import { createHost, type Host, WINDOW_DIRECTORY } from '../app/app.ts';
import { stopOnSignal } from '../app/shutdown.ts';
import { OWN_COMMAND, VERSION } from '../platform/process.ts';
import { openDataDirectory } from '../config/data-directory.ts';
import { loadSavedConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { systemClock } from '../platform/clock.ts';
import { claimDataDirectory, takenText } from '../platform/data-lock.ts';
import { messageOf } from '../platform/errors.ts';
import { createLog, fileSink, streamSink } from '../platform/log.ts';
import { type CommandOutcome, EXIT, failed, type Input } from './command.ts';
import { detectStderrReader, logDirectory, logTarget } from './logs.ts';
import { print, printError } from './terminal.ts';

/** Runs the gateway under plain Node until a signal stops it. */
export async function start({ env, dataDirectory }: Input): Promise<CommandOutcome> {
  const loaded = loadSavedConfig(env, dataDirectory);
  if (loaded.kind === 'refused') return failed(loaded.problems.join('\n'));
  const unsafe = openDataDirectory(env, process.platform);
  const claim = claimDataDirectory(dataDirectory, Date.now());
  if (claim.kind === 'taken') return failed(takenText(dataDirectory, claim.owner));
  const { config } = loaded;
  const stderrReader = detectStderrReader(env);
  const { to, format } = logTarget(config.gateway, stderrReader);
  const write = to === 'file' ? fileSink(logDirectory(dataDirectory)) : streamSink(process[to]);
  const log = createLog({ level: config.gateway.logLevel, format, write });
  log('info', 'starting', { version: VERSION, pid: process.pid });
  // A service has no terminal, and its output may be read by programs.
  const isTerminal = stderrReader === 'other' && to !== 'stdout';
  const say = isTerminal ? print : (text: string) => log('info', text);
  const warn =
    isTerminal && to !== 'stderr'
      ? (text: string) => printError(`Warning: ${text}`)
      : (text: string) => log('warn', text);
  const claimWarnings = claim.warning === null ? [] : [claim.warning];
  for (const warning of [...unsafe, ...claimWarnings, ...loaded.warnings]) warn(warning);
  const host = await createHost(
    { loaded, dataDirectory, windowDirectory: WINDOW_DIRECTORY },
    {
      openDatabase,
      hostActivity: createHostActivity({ env, platform: process.platform, clock: systemClock }),
      clock: systemClock,
      random: Math.random,
      log,
      onPortTaken: warn,
      lock: claim.lock,
    },
  );
  for (const notice of host.notices) warn(notice);
  const started = await host.start().catch(messageOf);
  if (typeof started === 'string') {
    // launchd and Windows keep no standard error of a service.
    log('error', 'not_started', { why: started });
    return failed(started);
  }
  host.askForModels();
  stopOnSignal(() => host.stop(), say);
  // A link gives control, so it must not be logged.
  if (isTerminal) greet(host, started, config);
  return { kind: 'printed', exitCode: EXIT.done };
}

type Addresses = Awaited<ReturnType<Host['start']>>;

function greet(host: Host, { baseUrl }: Addresses, config: Config): void {
  print(`Inglenook is running. Base URL for your apps: ${baseUrl}`);
  print(`Dashboard: ${host.controlLink()}`);
  print(
    `  (this sign-in link works once, within ${SIGN_IN_LINK.words}; "${OWN_COMMAND} open" makes a new one)`,
  );
  if (!hasUpstream(config, host.snapshot().status)) print(nextSteps(config.agent.enabled));
}

/** Counts an engine whose address is set even before the agent has probed it, and machines that have joined. */
function hasUpstream({ agent }: Config, { upstreams, local }: StatusReport): boolean {
  return (
    (agent.enabled && agent.engineUrl !== null) ||
    upstreams.some(({ baseUrl }) => baseUrl !== null) ||
    local.verified_count > 0
  );
}

function nextSteps(isAgentOn: boolean): string {
  const first = isAgentOn
    ? 'Nothing is configured yet. An engine on this machine is found automatically and, if there is a GPU, serves within seconds.\nFor anything else, open the dashboard: it sets up engines and APIs, and tests them. Or set one of these and start again:'
    : 'Nothing is configured yet. Open the dashboard: it sets up engines and APIs, and tests them. Or set one of these and start again:';
  return `
${first}
  INGLENOOK_LOCAL_ENGINE_URL=http://127.0.0.1:11434      an engine on this machine (here Ollama)
  INGLENOOK_HOSTED_A_BASE_URL=https://…/v1  with INGLENOOK_HOSTED_A_API_KEY and INGLENOOK_HOSTED_A_MODEL
"${OWN_COMMAND} help settings" lists every setting.`;
}
