import { mkdirSync } from 'node:fs';
import { BlockList, isIPv6 } from 'node:net';
import { createInterface } from 'node:readline/promises';
import { AGENT_PORTS } from '#shared/agent.ts';
import { completeAddress } from '#shared/base-url.ts';
import { createHttpLink, createSequence, linkProblemOf } from '../agent/registration/link.ts';
import { createEnrollmentFile, openIdentity } from '../agent/storage.ts';
import { type LoadedConfig, loadSavedConfig } from '../config/load.ts';
import { ENTRIES } from '../config/schema.ts';
import { writeSettings } from '../config/settings-file.ts';
import { systemClock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';
import { createHttpClient } from '../platform/http/client.ts';
import { isLoopbackHost } from '../platform/http/addresses.ts';
import { isLoopback } from '../platform/network-guard.ts';
import {
  reach,
  type ReachSuccess,
  type ReachResult,
  registryOrigin,
} from '../platform/addresses.ts';
import { answer, type CommandOutcome, EXIT, failed, type Input } from './command.ts';
import { askRunning, findRunning, type Running } from './running-app.ts';
import { printError, printProgress } from './terminal.ts';
import { OWN_COMMAND } from '../platform/process.ts';

export async function runJoin({
  env,
  dataDirectory,
  words: [url = '', token = ''],
  options,
}: Input): Promise<CommandOutcome> {
  // All checks that do not use the token up come first.
  const origins = url.split(',').map((each) => registryOrigin(completeAddress(each)));
  if (!origins.every((each) => each !== null)) return failed(BAD_URL, EXIT.usage);
  if (!/^[0-9a-f]{64}$/.test(token)) return failed(BAD_TOKEN, EXIT.usage);
  const loaded = loadSavedConfig(env, dataDirectory);
  if (loaded.kind === 'refused') return failed(loaded.problems.join('\n'));
  // No later start finds them.
  for (const warning of loaded.setAside) printError(`Warning: ${warning}`);
  const { registryUrl } = loaded.config.agent;
  const named =
    registryUrl === null ? origins : origins.filter((each) => each === registryOrigin(registryUrl));
  const [home, ...others] = named;
  if (home === undefined) return failed(FIXED_URL);
  const [at, reached] = await reachAny([home, ...others]);
  if (reached.kind === 'failed') {
    return failed(`No gateway answers at ${at}: ${reached.why}.\n${UNREACHED}`);
  }
  const isAllowed = options['yes'] === true || !isUnencrypted(reached);
  if (!isAllowed && !(await isConfirmed(at))) return failed(NOT_CONFIRMED);
  const isFixed = loaded.sources.get('agent.host') === 'env';
  const agentHost = agentHostFor(loaded, reached);
  const request = { origin: home, others, token, agentHost, isFixed };
  const running = await findRunning(dataDirectory);
  printProgress(`Joining ${home}`);
  const joined = await (running === null
    ? joinStandalone(request, dataDirectory)
    : joinRunning(request, running));
  if (joined.kind === 'failed') return failed(`Not joined to ${home}.\n${joined.message}`);
  const { id, origin } = joined;
  const notes = [...joined.notes, ...warningsOf(loaded)];
  const lines = [
    `Joined the gateway at ${origin} as ${id}.`,
    ...notes,
    running === null ? NEXT_START : NEXT_RUNNING,
    `"${OWN_COMMAND} doctor" then says how that gateway has verified this machine.`,
  ];
  return answer({ gateway: origin, id, notes }, lines.join('\n'));
}

/** The first gateway that answers; if none does, the last one. */
async function reachAny([origin = '', ...others]: readonly string[]): Promise<
  readonly [origin: string, reached: ReachResult]
> {
  const reached = await reach(origin);
  return reached.kind === 'reached' || others.length === 0 ? [origin, reached] : reachAny(others);
}

const BAD_URL =
  'The address of the gateway cannot be used: write it like http://192.168.1.10:47900, with http or https and without a path.';
const BAD_TOKEN =
  'The token must be 64 hex digits: copy the whole command from the gateway ("Add a machine").';
const FIXED_URL =
  'INGLENOOK_REGISTRY_URL names another gateway: change or remove that setting, then join again.';
const UNREACHED = 'Check that it runs, that its address is right and that no firewall blocks it.';
const NOT_CONFIRMED =
  'Not joined. Add --yes to continue anyway, or join it over a tailnet or another VPN.';
const NEXT_START = `Next: start Inglenook here with "${OWN_COMMAND} start" or the desktop app.`;
const NEXT_RUNNING = 'The Inglenook running here now reports to that gateway.';

/** Asks whether to continue; false if there is no terminal to ask in. */
async function isConfirmed(origin: string): Promise<boolean> {
  process.stderr.write(
    `The gateway at ${origin} sends prompts to this machine over plain HTTP: others on the network can read them, and the answers.\n`,
  );
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const reply = await terminal.question('Continue? [y/N] ');
  terminal.close();
  return /^y(es)?$/i.test(reply.trim());
}

/** The address the agent must listen on for a remote gateway; null if it needs no change. */
function agentHostFor({ config }: LoadedConfig, { localAddress }: ReachSuccess): string | null {
  return isLoopbackHost(config.agent.host) && !isLoopbackHost(localAddress) ? localAddress : null;
}

function warningsOf({ config: { agent } }: LoadedConfig): readonly string[] {
  const { enabled, ports } = agent;
  const off =
    'The agent is switched off here. Set agent.enabled (INGLENOOK_AGENT) to true and restart.';
  const unseen = `That gateway checks only the ports ${AGENT_PORTS.join(' and ')}, but the agent uses ${ports.join(', ')}: add one of the former to agent.ports (INGLENOOK_AGENT_PORTS).`;
  const isSeen = ports.some((port) => AGENT_PORTS.includes(port));
  return [...(enabled ? [] : [off]), ...(isSeen ? [] : [unseen])];
}

/** Addresses of a Tailscale network, whose traffic is encrypted (https://tailscale.com/kb/1015). */
const TAILNET = new BlockList();
TAILNET.addSubnet('100.64.0.0', 10, 'ipv4');
TAILNET.addSubnet('fd7a:115c:a1e0::', 48, 'ipv6');

/**
 * Whether others on the network can read prompts on their way here: a gateway calls its machines over plain HTTP, even
 * if it is behind HTTPS itself.
 */
function isUnencrypted({ remoteAddress }: ReachSuccess): boolean {
  if (isLoopback(remoteAddress)) return false;
  return !TAILNET.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4');
}

interface JoinRequest {
  readonly origin: string;
  /** Other gateways of the same pool, tried if the first does not answer. */
  readonly others: readonly string[];
  readonly token: string;
  /** The address the agent must listen on to be reachable; null if no change is needed. */
  readonly agentHost: string | null;
  /** The environment sets the present one, and keeps it. */
  readonly isFixed: boolean;
}

/** Enrols this machine while Inglenook is not running; the next start uses the saved enrolment. */
async function joinStandalone(request: JoinRequest, directory: string) {
  const { origin, others, token, agentHost, isFixed } = request;
  // This comes before the token is used up, because the enrolment that it buys must be saved.
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { identity, warnings } = openIdentity(directory, systemClock);
  const http = createHttpClient();
  const link = createHttpLink({
    home: origin,
    others,
    identity,
    sequence: createSequence(systemClock),
    http,
    clock: systemClock,
  });
  const outcome = await link.enroll(token);
  http.close();
  if (outcome.kind !== 'enrolled') {
    const { happened, remedy } = linkProblemOf(outcome);
    return failed(remedy === null ? happened : `${happened}\n${remedy}`);
  }
  const { gatewayToken } = outcome;
  const { id } = identity;
  const joined = { registryUrl: link.url, others: [origin, ...others], id, gatewayToken };
  const failure = await createEnrollmentFile(directory, systemClock).save(joined, token);
  if (failure !== null) {
    return failed(
      `The enrolment could not be written to ${directory} (${failure}), so it is lost.\nFix that, then join again with a new join command.`,
    );
  }
  const notes = warnings.map(({ happened, remedy }) => `${happened} ${remedy}`);
  const all = [...notes, ...writeAgentHost(agentHost, isFixed, directory)];
  return { kind: 'joined', origin: link.url, id, notes: all } as const;
}

function writeAgentHost(
  host: string | null,
  isFixed: boolean,
  directory: string,
): readonly string[] {
  const entry = ENTRIES.find(({ path }) => path === 'agent.host');
  if (host === null || entry === undefined) return [];
  if (isFixed)
    return [
      `Set INGLENOOK_AGENT_HOST to ${host}: as it is, the gateway cannot reach this machine.`,
    ];
  try {
    writeSettings(directory, [{ entry, value: host }]);
    return [listensOn(host)];
  } catch (error) {
    return [
      `The settings file could not be written (${messageOf(error)}): set INGLENOOK_AGENT_HOST to ${host}, where the gateway finds this machine.`,
    ];
  }
}

const listensOn = (host: string) =>
  `The agent listens on ${host}, where that gateway finds this machine (setting agent.host).`;

/** Joins through the running Inglenook, which sends heartbeats at once, and saves where its agent has to listen. */
async function joinRunning(request: JoinRequest, running: Running) {
  const { origin, others, token, agentHost } = request;
  const joined = await askRunning<{ id: string; url: string; warning: string | null }>(running, {
    method: 'POST',
    path: 'agent/join',
    json: { line: `${[origin, ...others].join(',')} ${token}` },
  });
  if (joined.kind === 'failed') return joined;
  const { id, url, warning } = joined.body;
  const note = warning ?? (agentHost === null ? null : listensOn(agentHost));
  return { kind: 'joined', origin: url, id, notes: note === null ? [] : [note] } as const;
}
