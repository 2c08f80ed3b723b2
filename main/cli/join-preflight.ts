import { mkdirSync } from 'node:fs';
import { BlockList, isIPv6 } from 'node:net';
import { z } from 'zod';
import { createPoolLink } from '../agent/registration/pool-link.ts';
import { linkProblemOf } from '../agent/registration/link.ts';
import { createEnrollmentFile, tokenDigest } from '../agent/storage/enrollment-file.ts';
import { openIdentity } from '../agent/storage/identity.ts';
import { createSequence } from '../agent/storage/sequence.ts';
import { ENTRIES } from '../config/schema.ts';
import { writeSettings } from '../config/settings-file.ts';
import { systemClock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';
import { createHttpClient } from '../platform/http/client.ts';
import { silentLog } from '../platform/log.ts';
import { isLoopback } from '../platform/network-guard.ts';
import { reach, type Reached, type ReachResult } from '../platform/reach.ts';
import { callRunning, type Running } from './running-app.ts';

export { reach, type Reached, type ReachResult };

/** Addresses of a Tailscale network, whose traffic is encrypted (https://tailscale.com/kb/1015). */
const TAILNET = new BlockList();
TAILNET.addSubnet('100.64.0.0', 10, 'ipv4');
TAILNET.addSubnet('fd7a:115c:a1e0::', 48, 'ipv6');

/** Whether others on the network can read the traffic: plain HTTP beyond this machine and the tailnet. */
export function isUnencrypted(origin: string, { remoteAddress }: Reached): boolean {
  if (!origin.startsWith('http:') || isLoopback(remoteAddress)) return false;
  return !TAILNET.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4');
}

/** `notes` and `lines` are human-readable. */
type Joined =
  | {
      readonly kind: 'joined';
      /** The gateway that answered. */
      readonly origin: string;
      readonly id: string | null;
      readonly notes: readonly string[];
    }
  | { readonly kind: 'failed'; readonly lines: readonly string[] };

export interface JoinRequest {
  readonly origin: string;
  /** Other gateways of the same pool, tried if the first does not answer. */
  readonly others: readonly string[];
  readonly token: string;
  /** The address the agent must listen on to be reachable; null if no change is needed. */
  readonly agentHost: string | null;
}

const TIMEOUT_MS = 15_000;

/** Enrols this machine while Switchyard is not running; the next start uses the saved enrolment. */
export async function joinStandalone(request: JoinRequest, directory: string): Promise<Joined> {
  const { origin, others, token, agentHost } = request;
  // Before the token is used up: the enrolment that it buys must be saved.
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { identity, warnings } = openIdentity(directory, systemClock, process.platform);
  const http = createHttpClient();
  const sequence = createSequence(directory, silentLog);
  const link = createPoolLink({
    home: origin,
    others,
    pool: null,
    onPool() {},
    identity,
    sequence,
    http,
    clock: systemClock,
  });
  const { signal } = new AbortController();
  const outcome = await link.enroll(token, { timeoutMs: TIMEOUT_MS, signal });
  await http.close();
  if (outcome.kind !== 'enrolled') {
    const { happened, remedy } = linkProblemOf(outcome);
    return { kind: 'failed', lines: [happened, ...(remedy === null ? [] : [remedy])] };
  }
  const { id, gatewayToken, pool } = outcome;
  if (id !== identity.id) {
    return { kind: 'failed', lines: ['The gateway answered for a different machine.'] };
  }
  const file = createEnrollmentFile(directory, systemClock, process.platform);
  const digest = tokenDigest(token);
  const joinedAt = link.url ?? origin;
  const failure = await file.save({
    registryUrl: joinedAt,
    id,
    gatewayToken,
    tokenDigest: digest,
    pool: pool ?? undefined,
  });
  if (failure !== null) {
    const happened = `The enrolment could not be written to ${directory} (${failure}), so it is lost.`;
    return { kind: 'failed', lines: [happened, 'Fix that, then join again with a new line.'] };
  }
  const notes = warnings.map(({ happened, remedy }) => `${happened} ${remedy}`);
  const all = [...notes, ...writeAgentHost(agentHost, directory)];
  return { kind: 'joined', origin: joinedAt, id, notes: all };
}

function writeAgentHost(host: string | null, directory: string): readonly string[] {
  const entry = ENTRIES.find(({ path }) => path === 'agent.host');
  if (host === null || entry === undefined) return [];
  try {
    writeSettings(directory, [{ entry, value: host }]);
    return [listensOn(host)];
  } catch (error) {
    return [
      `The settings file could not be written (${messageOf(error)}): set SWITCHYARD_AGENT_HOST to ${host}, where the gateway finds this machine.`,
    ];
  }
}

const listensOn = (host: string) =>
  `The agent listens on ${host}, where that gateway finds this machine (setting agent.host).`;

const JOINED = z.looseObject({
  id: z.string(),
  url: z.string(),
  warning: z.string().nullable(),
});

/** Joins through the running Switchyard, which then sends heartbeats at once. */
export async function joinRunning(request: JoinRequest, running: Running): Promise<Joined> {
  const { origin, others, token, agentHost } = request;
  const answer = await callRunning(running, {
    method: 'POST',
    path: 'agent/join',
    json:
      others.length === 0
        ? { url: origin, token }
        : { line: `${[origin, ...others].join(',')} ${token}` },
    answer: JOINED,
  });
  if (answer.error !== null) return { kind: 'failed', lines: [answer.error] };
  const { id, url, warning } = answer.body;
  const notes = warning === null ? [] : [warning];
  if (agentHost !== null) {
    const patched = await callRunning(running, {
      method: 'PATCH',
      path: 'settings',
      json: { agent: { host: agentHost } },
      answer: z.unknown(),
    });
    notes.push(
      patched.error === null
        ? listensOn(agentHost)
        : `The agent could not be told to listen on ${agentHost}: ${patched.error}`,
    );
  }
  return { kind: 'joined', origin: url, id, notes };
}
