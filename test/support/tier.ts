import { expect } from 'vitest';
import type { AgentRecord } from '#shared/provider.ts';
import type { StoredProvider, StoredVerification } from '../../main/registry/store/store.ts';
import { createAgent, recordOf } from '../registry/world.ts';
import { createManualClock, type ManualClock } from './clock.ts';
import { type Controlled, controlOf } from './control.ts';
import { directoryWith } from './data-directory.ts';
import { startIn } from './gateway.ts';
import { storedProvider } from './store.ts';
import { type Script, startUpstream, type Upstream } from './upstream.ts';
import { send } from './http.ts';

/** A machine of the local tier: what the registry keeps of it, and the upstream behind its address. */
export interface Machine extends Upstream {
  readonly id: string;
  readonly stored: StoredProvider;
}

/** What a machine says of itself and what its verification came to, where a test wants it otherwise. */
export interface MachineGiven {
  readonly record?: Partial<AgentRecord>;
  readonly verification?: Partial<StoredVerification>;
}

/** The model that the machines have loaded unless a test says otherwise. */
export const MODEL = 'qwen3-32b';

/** A gateway whose registry knows some machines, and somebody who controls it. */
export type Tier = Controlled & { readonly clock: ManualClock };

let machines = 0;

/** Starts a verified machine; several scripts answer the first calls in turn, the last one all others. */
export async function startMachine(...scripts: readonly Script[]): Promise<Machine> {
  return startMachineAs({}, ...scripts);
}

/** The same in another state. */
export async function startMachineAs(
  given: MachineGiven,
  ...scripts: readonly Script[]
): Promise<Machine> {
  return machineAt(await startUpstream(...scripts), given);
}

/** The machine behind an upstream. */
export function machineAt(upstream: Upstream, given: MachineGiven = {}): Machine {
  machines += 1;
  const id = `prv_${machines.toString(16).padStart(32, '0')}`;
  return Object.assign(upstream, { id, stored: storedMachine(id, upstream.url, given) });
}

/** A machine whose agent reports: `beat` sends a heartbeat with these changes. */
export async function startReporting(script: Script, clock: ManualClock) {
  const agent = createAgent(clock);
  const machine = await startMachine(script);
  const { id, publicKey } = agent;
  const stored = { ...machine.stored, id, publicKey, sequence: 0, lastHeartbeatIp: '127.0.0.1' };
  const beat = async (url: string, change: object) => {
    const sent = agent.heartbeat({ ...recordOf(), ...machine.stored.record, ...change });
    const headers = { 'content-type': 'application/json', ...sent.headers };
    const call = { method: 'POST', headers, body: sent.body.toString() };
    expect((await send(url + sent.path, call)).status).toBe(200);
  };
  return Object.assign(machine, { id, stored, beat });
}

/** A verified machine whose engine gives itself away by this name. */
export const startEngine = (ownedBy: string, script: Script): Promise<Machine> =>
  startMachineAs({ verification: { ownedBy } }, script);

/** What the registry keeps of a verified machine that only its address leads to. */
export function storedMachine(
  id: string,
  address: string,
  { record, verification }: MachineGiven = {},
): StoredProvider {
  // Neither name nor address to be found by: a second search finds nothing.
  const nowhere = { ...recordOf().host, hostname: '' };
  return storedProvider({
    id,
    record: recordOf({ agent_url: '', host: nowhere, current_model: MODEL, ...record }),
    lastHeartbeatIp: '',
    lastHeartbeatAt: START,
    verification: {
      state: 'verified',
      checks: [],
      lastCheckAt: START,
      lastInferenceAt: START,
      failedRuns: 0,
      address,
      ...verification,
    },
  });
}

/** A machine that is only shown: it was heard and tested just now, and nobody listens at its address. */
export function shownMachine(
  id: string,
  {
    host,
    ...record
  }: Omit<Partial<AgentRecord>, 'host'> & { readonly host: { readonly hostname: string } },
  state: StoredVerification['state'] = 'verified',
): StoredProvider {
  const now = Date.now();
  const stored = storedMachine(id, 'http://127.0.0.1:9', {
    record: { ...record, host: { ...recordOf().host, ...host } },
    verification: { state, lastCheckAt: now, lastInferenceAt: now },
  });
  return { ...stored, lastHeartbeatAt: now };
}

/** Where the manual clock begins. */
const START = Date.UTC(2026, 0, 1);

/**
 * Starts a gateway that knows these machines. While nothing tells them apart they are asked in the order
 * in which they are given here: chance is not left to chance. Most tests send one prompt again and again, which would stay
 * with one machine, so `AFFINITY` is off unless a test sets it.
 */
export async function startTier(
  pool: readonly Pick<Machine, 'stored'>[],
  settings: Readonly<Record<string, string>> = {},
  clock: ManualClock = createManualClock(),
): Promise<Tier> {
  const providers = enrolled(pool.map(({ stored }) => stored));
  const given = { AFFINITY: 'off', ...settings };
  const gateway = await startIn(directoryWith({ providers }), given, clock);
  return { ...gateway, clock, ...controlOf(gateway) };
}

/** Machines enrolled one after the other: the constant chance of the tests asks them in turn. */
export function enrolled(stored: readonly StoredProvider[]): StoredProvider[] {
  return stored.map((each, turn) => ({ ...each, enrolledAt: START + turn }));
}
