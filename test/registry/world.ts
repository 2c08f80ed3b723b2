import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import SqliteDatabase from 'better-sqlite3';
import type { AgentRecord } from '#shared/provider.ts';
import { providerIdOf, publicKeyOf } from '../../main/platform/agent-identity.ts';
import { signatureHeaders } from '../../main/platform/http-signature.ts';
import { silentLog } from '../../main/platform/log.ts';
import { createRegistry, type RegistryDeps } from '../../main/registry/registry.ts';
import type { AgentMessage } from '../../main/registry/responses.ts';
import { type Store, UNVERIFIED } from '../../main/registry/store/store.ts';
import {
  NOTES_OF_PROVIDERS,
  REGISTRY_TABLES,
  registryOperations,
} from '../../main/registry/store/tables.ts';
import type { VerifierNews } from '../../main/registry/verifier-port.ts';
import { agentRecord, gpuDevice } from '../support/agent-record.ts';
import { createManualClock, type ManualClock } from '../support/clock.ts';

/** The record of a machine that serves one model and could serve another. */
export function recordOf(overrides: Partial<AgentRecord> = {}): AgentRecord {
  return agentRecord({ models: ['qwen3-32b', 'llama-8b'], ...overrides });
}

/** One GPU of a record. */
export const device = (index: number) => gpuDevice({ index });

export type TestStore = ReturnType<typeof createTestStore>;

/** Makes an empty database in memory whose disk can fail, or take its time. */
export function createTestStore() {
  const db = new SqliteDatabase(':memory:');
  db.exec(REGISTRY_TABLES + NOTES_OF_PROVIDERS);
  const { reads, writes } = registryOperations(db);
  let failure: string | null = null;
  let gate = Promise.resolve();
  const store: Store = {
    async write(changes) {
      await gate;
      if (failure !== null) return { kind: 'unwritten', message: failure };
      writes.apply(changes);
      return { kind: 'written' };
    },
    events: async (id) => reads.events(id),
    close: async () => {},
  };
  return {
    ...store,
    /** What a restart would find. */
    state: () => reads.load().state,
    /** From now on each write fails with this message, or none does. */
    fail: (message: string | null) => void (failure = message),
    /** From now on writes wait until the returned function is called. */
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };
}

export type TestAgent = ReturnType<typeof createAgent>;

export interface SignedAs {
  readonly sequence: number;
  readonly createdS: number;
  readonly keyId: string;
  readonly privateKey: KeyObject;
}

/** The paths of the protocol. */
export const ENROLL = '/api/v1/providers/enroll';
export const HEARTBEAT = '/api/v1/providers/heartbeat';

/** Makes an agent that signs by the protocol, with a key of its own; `clock` is the agent's. */
export function createAgent(clock: { now(): number }) {
  const { privateKey } = generateKeyPairSync('ed25519');
  const publicKey = publicKeyOf(privateKey);
  const id = providerIdOf(publicKey);

  function message(path: string, body: Buffer, more: Partial<SignedAs> = {}): AgentMessage {
    agent.sequence += 1;
    const createdS = Math.floor(clock.now() / 1000);
    const signer = { privateKey, keyId: id, sequence: agent.sequence, createdS, ...more };
    const headers = signatureHeaders({ method: 'POST', path, body }, signer);
    return { method: 'POST', path, body, headers, ip: '192.168.1.20' };
  }

  const jsonOf = (value: unknown) => Buffer.from(JSON.stringify(value));
  const agent = {
    privateKey,
    publicKey,
    id,
    /** The highest sequence that it has used. */
    sequence: 0,
    message,
    enroll: (token: string) => message(ENROLL, jsonOf({ token, public_key: publicKey })),
    heartbeat: (record: unknown, ip = '192.168.1.20'): AgentMessage => ({
      ...message(HEARTBEAT, jsonOf(record)),
      ip,
    }),
  };
  return agent;
}

/** Starts a registry and all that is around it on what `store` holds; nothing of it outlives the test. */
export function startRegistry(
  given: Partial<Pick<RegistryDeps, 'traffic' | 'clock'>> & {
    readonly store?: TestStore;
    readonly clock?: ManualClock;
  } = {},
) {
  const { clock = createManualClock(), store = createTestStore() } = given;
  /** What the verifier was told, in order. */
  const news: [id: string, news: readonly VerifierNews[]][] = [];
  const removed: string[] = [];
  /** Ids that were announced as changed, in order. */
  const changed: string[] = [];
  const registry = createRegistry({
    store,
    state: store.state(),
    clock,
    log: silentLog,
    gatewaySecret: 'the gateway keeps this to itself',
    heartbeatMs: () => 15_000,
    verifier: {
      providerChanged: (id, what) => void news.push([id, what]),
      removed: (id) => void removed.push(id),
    },
    traffic: given.traffic ?? (() => NO_TRAFFIC),
    proved() {},
    changed: (id) => void changed.push(id),
  });
  registry.start();

  async function newToken(): Promise<string> {
    const made = await registry.newEnrollment('http://gateway:47900');
    if (made.kind === 'refused') throw new Error(made.message);
    return made.body.token;
  }

  return {
    registry,
    clock,
    store,
    news,
    removed,
    changed,
    newToken,
    /** Enrols an agent with a new token; gives it back. */
    join: async (agent = createAgent(clock)) => {
      const answer = await registry.handleEnroll(agent.enroll(await newToken()));
      if (answer.kind === 'refused') throw new Error(answer.message);
      return agent;
    },
    /** Sends a heartbeat and gives the answer. */
    beat: (agent: TestAgent, overrides: Partial<AgentRecord> = {}, ip?: string) =>
      registry.handleHeartbeat(agent.heartbeat(recordOf(overrides), ip)),
    /** Lets a provider pass its verification. */
    verify: async (id: string, address = 'http://192.168.1.20:3001') => {
      const subject = registry.verifierHost.subject(id);
      if (subject === null) throw new Error('no such subject');
      await registry.verifierHost.verificationDone(id, subject.materialChanges, {
        ...UNVERIFIED,
        state: 'verified',
        lastCheckAt: clock.now(),
        lastInferenceAt: clock.now(),
        address,
      });
    },
  };
}

/** A registry with one verified machine that was just heard. */
export async function startVerified(given: Parameters<typeof startRegistry>[0] = {}) {
  const world = startRegistry(given);
  const agent = await world.join();
  await world.beat(agent);
  await world.verify(agent.id);
  return { ...world, agent, id: agent.id };
}

export const NO_TRAFFIC = {
  ewmaTtft: null,
  ewmaLatency: null,
  concurrentRequests: 0,
  totalRequests: 0,
  successCount: 0,
};
