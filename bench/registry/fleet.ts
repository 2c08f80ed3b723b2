import { createPrivateKey, hash, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import type { AgentRecord } from '#shared/provider.ts';
import { providerIdOf, publicKeyOf } from '../../main/platform/agent-identity.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { silentLog } from '../../main/platform/log.ts';
import { storedSecret } from '../../main/platform/secrets.ts';
import { gatewayTokenOf } from '../../main/registry/provider-table.ts';
import { openStore } from '../../main/registry/store/open-store.ts';
import type { Store, StoredProvider } from '../../main/registry/store/store.ts';
import { agentRecord, gpuDevice } from '../../test/support/agent-record.ts';

/** The machines of the registry's bench: their keys, what they report, and the database that knows them all. */

/** The agents' own port. */
export const FLEET_PORT = 3001;

/** Each machine has a loopback address of its own, as Linux gives them: all of 127.0.0.0/8. */
export const hostOf = (index: number): string =>
  `127.${1 + Math.floor(index / 65_536)}.${Math.floor(index / 256) % 256}.${index % 256}`;

const urlOf = (index: number): string => `http://${hostOf(index)}:${FLEET_PORT}`;

/** The model that all machines serve. */
export const FLEET_MODEL = 'qwen3-32b';

/** One machine, the same in every process: its key is made from its number. */
export interface Machine {
  readonly id: string;
  readonly publicKey: string;
  readonly privateKey: KeyObject;
  readonly tokenSalt: string;
}

/** What comes before the 32 bytes of an ed25519 private key in PKCS #8 (RFC 8410, 7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The machine of that number. */
export function machineAt(index: number): Machine {
  const seed = hash('sha256', `bench machine ${index}`, 'buffer');
  const key = Buffer.concat([PKCS8_HEAD, seed]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  const publicKey = publicKeyOf(privateKey);
  return { id: providerIdOf(publicKey), publicKey, privateKey, tokenSalt: `salt ${index}` };
}

/** What a machine reports in its n-th heartbeat: the counters and the load go on, nothing else changes. */
export function recordOf(index: number, beat: number): AgentRecord {
  const memory_used_mb = 18_000 + ((index + beat * 37) % 4000);
  const typical = agentRecord();
  const device = gpuDevice({
    memory_used_mb,
    memory_free_mb: 24_564 - memory_used_mb,
    util_gpu: (index + beat * 13) % 101,
    temperature_c: 40 + ((index + beat) % 40),
  });
  return {
    ...typical,
    current_model: FLEET_MODEL,
    models: [FLEET_MODEL, 'llama-3.3-70b-instruct'],
    requests_served: index + beat * 11,
    tokens_generated: index * 300 + beat * 4000,
    gpu: { ...typical.gpu, devices: [device] },
    // No name: nobody resolves ten thousand names that do not exist.
    host: { ...typical.host, hostname: '' },
    agent_url: urlOf(index),
    uptime_s: 86_400 + beat * 15,
  };
}

/** Verified machines are checked again this far apart: the fleet's checks are spread over it. */
const RECHECK_MS = 300_000;

function storedMachine(index: number, count: number, nowMs: number): StoredProvider {
  const { id, publicKey, tokenSalt } = machineAt(index);
  const url = urlOf(index);
  const passed = (name: string, detail: string) => ({ name, passed: true, detail });
  return {
    id,
    publicKey,
    tokenSalt,
    enrolledAt: nowMs - 86_400_000 + index,
    sequence: 1,
    record: recordOf(index, 0),
    lastHeartbeatAt: nowMs,
    lastHeartbeatIp: '127.0.0.1',
    heartbeatCount: 1,
    verification: {
      state: 'verified',
      checks: [
        passed('health /health status ok', `GET ${url}/health`),
        passed('engine_health ok', '200'),
        passed('GPU count >0', '1'),
        passed('test inference returns choices', `${url}/v1/chat/completions`),
        passed('latency <10s', `${url}/v1/chat/completions`),
        passed('model id matches', `GET ${url}/v1/models`),
      ],
      lastCheckAt: nowMs - Math.floor((index / count) * RECHECK_MS),
      lastInferenceAt: nowMs,
      failedRuns: 0,
      address: url,
    },
  };
}

/** What the registry shows each machine, by the number of the machine. */
export function gatewayTokens(directory: string, machines: readonly Machine[]): readonly string[] {
  const secret = storedSecret(join(directory, 'gateway-secret'));
  return machines.map((machine) => gatewayTokenOf(secret, machine));
}

const CHUNK = 1000;

/** Makes the database of a gateway that has known `count` machines for a day. */
export async function makeDatabase(directory: string, count: number): Promise<void> {
  const path = join(directory, 'registry.db');
  const opened = await openStore(path, { clock: systemClock, log: silentLog });
  if (opened.kind !== 'open') throw new Error(opened.message);
  await fill(opened.store, count);
  await opened.store.close();
}

/** Writes `count` machines that were known for a day. */
export async function fill(store: Store, count: number): Promise<void> {
  const nowMs = Date.now();
  for (let from = 0; from < count; from += CHUNK) {
    const size = Math.min(CHUNK, count - from);
    const written = await store.write(
      Array.from({ length: size }, (_, i) => ({
        kind: 'provider',
        provider: storedMachine(from + i, count, nowMs),
      })),
    );
    if (written.kind === 'unwritten') throw new Error(written.message);
  }
}
