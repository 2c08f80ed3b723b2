import { createInterface } from 'node:readline/promises';
import { AGENT_PORTS } from '#shared/agent.ts';
import { registryOrigin } from '../agent/registration/http-link.ts';
import { readKeyFile } from '../config/key-file.ts';
import { loadConfig, type LoadedConfig, type RefusedConfig } from '../config/load.ts';
import { readSettings } from '../config/settings-file.ts';
import { isLoopbackHost } from '../platform/http/server.ts';
import type { Input } from './command.ts';
import {
  isUnencrypted,
  joinStandalone,
  type JoinRequest,
  joinRunning,
  reach,
  type Reached,
  type ReachResult,
} from './join-preflight.ts';
import { answer, EXIT, failed, type CommandOutcome, type ExitCode } from './outcome.ts';
import { findRunning } from './running-app.ts';
import { withProgress } from './terminal.ts';

/** Enrols this machine at a gateway. */
export async function runJoin({
  env,
  dataDirectory,
  words,
  options,
}: Input): Promise<CommandOutcome> {
  const [url = '', token = ''] = words;
  const loaded = loadConfig(
    env,
    readSettings(dataDirectory, Date.now()).tree,
    readKeyFile(dataDirectory),
  );
  const plan = await planOf({ url, token, yes: options['yes'] === true }, loaded);
  if (plan.kind === 'refused') return failed(plan.lines.join('\n'), plan.exitCode);
  const { request, warnings } = plan;
  const running = await findRunning(dataDirectory);
  const joined = await withProgress(
    `Joining ${request.origin}`,
    running === null ? joinStandalone(request, dataDirectory) : joinRunning(request, running),
  );
  if (joined.kind === 'failed') {
    return failed([`Not joined to ${request.origin}.`, ...joined.lines].join('\n'));
  }
  const { id, origin } = joined;
  const notes = [...joined.notes, ...warnings];
  const lines = [
    `Joined the gateway at ${origin}${id === null ? '' : ` as ${id}`}.`,
    ...notes,
    running === null ? NEXT_START : NEXT_RUNNING,
    '"switchyard doctor" then checks this machine as that gateway does.',
  ];
  return answer({ gateway: origin, id, notes }, lines.join('\n'));
}

interface JoinArguments {
  readonly url: string;
  readonly token: string;
  /** Continue over plain HTTP without asking. */
  readonly yes: boolean;
}

type Plan =
  | {
      readonly kind: 'planned';
      readonly request: JoinRequest;
      readonly warnings: readonly string[];
    }
  | {
      readonly kind: 'refused';
      readonly lines: readonly string[];
      readonly exitCode: ExitCode;
    };

/** Runs all checks that do not consume the token. */
async function planOf(
  { url, token, yes }: JoinArguments,
  loaded: LoadedConfig | RefusedConfig,
): Promise<Plan> {
  const origins = url.split(',').map(registryOrigin);
  if (!origins.every((each) => each !== null)) return usageError(BAD_URL);
  if (!/^[0-9a-f]{64}$/.test(token)) return usageError(BAD_TOKEN);
  if (loaded.kind === 'refused') return refused(...loaded.problems);
  const { registryUrl } = loaded.config.agent;
  const named =
    registryUrl === null ? origins : origins.filter((each) => each === registryOrigin(registryUrl));
  const [origin, ...others] = named;
  if (origin === undefined) return refused(FIXED_URL);
  const [at, reached] = await reachAny([origin, ...others]);
  if (reached.kind === 'failed') {
    return refused(`No gateway answers at ${at}: ${reached.why}.`, UNREACHED);
  }
  if (isUnencrypted(at, reached) && !yes && !(await isConfirmed(at))) return refused(NOT_CONFIRMED);
  const request = { origin, others, token, agentHost: agentHost(loaded, reached) };
  return { kind: 'planned', request, warnings: warningsOf(loaded, reached) };
}

/** The first gateway that answers; if none does, the last one. */
async function reachAny([origin = '', ...others]: readonly string[]): Promise<
  readonly [origin: string, reached: ReachResult]
> {
  const reached = await reach(origin);
  return reached.kind === 'reached' || others.length === 0 ? [origin, reached] : reachAny(others);
}

function refused(...lines: readonly string[]): Plan {
  return { kind: 'refused', lines, exitCode: EXIT.failed };
}

function usageError(why: string): Plan {
  return { kind: 'refused', lines: [why], exitCode: EXIT.usage };
}

const BAD_URL =
  'The address of the gateway cannot be used: write it like http://192.168.1.10:47900, with http or https and without a path.';
const BAD_TOKEN =
  'The token must be 64 hex digits: copy the whole line from the gateway ("Add a machine").';
const FIXED_URL =
  'SWITCHYARD_REGISTRY_URL names another gateway: change or remove that setting, then join again.';
const UNREACHED = 'Check that it runs, that its address is right and that no firewall blocks it.';
const NOT_CONFIRMED =
  'Not joined. Add --yes to continue anyway, set up TLS for the gateway, or join it over a tailnet.';
const NEXT_START = 'Next: start Switchyard here with "switchyard start" or the desktop app.';
const NEXT_RUNNING = 'The Switchyard running here now reports to that gateway.';

/** False without a terminal to ask in. */
async function isConfirmed(origin: string): Promise<boolean> {
  process.stderr.write(
    `${origin} is plain HTTP beyond this machine and the tailnet: others on the network can read prompts, answers and keys.\n`,
  );
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const reply = await terminal.question('Continue? [y/N] ');
  terminal.close();
  return /^y(es)?$/i.test(reply.trim());
}

/** The address the agent must listen on for a remote gateway; null if it is set by the environment or needs no change. */
function agentHost({ config, sources }: LoadedConfig, { localAddress }: Reached): string | null {
  const isFixed = sources.get('agent.host') === 'env';
  if (isFixed || !isLoopbackHost(config.agent.host) || isLoopbackHost(localAddress)) return null;
  return localAddress;
}

const isChecked = (port: number) => AGENT_PORTS.includes(port);

function warningsOf({ config, sources }: LoadedConfig, reached: Reached): readonly string[] {
  const warnings: string[] = [];
  if (!config.agent.enabled) {
    warnings.push('The agent is switched off here: set SWITCHYARD_AGENT to true.');
  }
  if (!config.agent.ports.some(isChecked)) {
    warnings.push(
      `That gateway checks only the ports ${AGENT_PORTS.join(' and ')}, but the agent uses ${config.agent.ports.join(', ')}: add one of the former to SWITCHYARD_AGENT_PORTS.`,
    );
  }
  const isHidden = isLoopbackHost(config.agent.host) && !isLoopbackHost(reached.localAddress);
  if (isHidden && sources.get('agent.host') === 'env') {
    warnings.push(
      `SWITCHYARD_AGENT_HOST is ${config.agent.host}, which that gateway cannot reach: set it to ${reached.localAddress}.`,
    );
  }
  return warnings;
}
