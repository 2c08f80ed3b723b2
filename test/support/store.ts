import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { DATABASE_FILE, openDatabase } from '../../main/app/database.ts';
import { silentLog } from '../../main/platform/log.ts';
import type {
  OpenedStore,
  Store,
  StoreChange,
  StoredProvider,
} from '../../main/registry/store/store.ts';
import { openSqliteStore } from '../../main/registry/store/tables.ts';
import { agentRecord, gpuDevice } from './agent-record.ts';
import { createManualClock } from './clock.ts';

const RECORD = agentRecord({
  models: ['qwen3-32b', 'ünï-çode "quoted" \u2028'],
  gpu: {
    count: 1,
    devices: [gpuDevice({ temperature_c: 41.5 })],
    total_memory_gb: 24,
    gpu_cores: 16_384,
  },
});

/** A provider that was verified, with everything filled in. */
export function storedProvider(changed: Partial<StoredProvider> = {}): StoredProvider {
  return {
    id: 'prv_b16c2d1bead1262639764fdb0ee4d377',
    publicKey: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs',
    tokenSalt: '0f'.repeat(16),
    enrolledAt: Date.UTC(2026, 0, 1),
    sequence: Number.MAX_SAFE_INTEGER,
    record: RECORD,
    lastHeartbeatAt: Date.UTC(2026, 0, 2),
    lastHeartbeatIp: 'fd7a::1',
    heartbeatCount: 42,
    verification: {
      state: 'verified',
      checks: [
        {
          name: 'health /health status ok',
          passed: true,
          latencyMs: 3,
          detail: 'GET http://x/health',
        },
        { name: 'model id matches', passed: false, error: 'check missing' },
      ],
      lastCheckAt: Date.UTC(2026, 0, 3),
      lastInferenceAt: Date.UTC(2026, 0, 3),
      failedRuns: 1,
      address: 'http://192.168.1.20:3001',
    },
    note: null,
    ...changed,
  };
}

/** The change that keeps a provider. */
export const put = (changed: Partial<StoredProvider> = {}): StoreChange => ({
  kind: 'provider',
  part: 'enrolled',
  provider: storedProvider(changed),
});

/** Opens the store of a data directory as the program does, in a thread; it is closed with the test. */
export async function openTestStore(
  directory: string,
  log = silentLog,
  open = openDatabase,
): Promise<OpenedStore> {
  const path = join(directory, DATABASE_FILE);
  const database = await open(path, { log, clock: createManualClock() });
  const opened = await openSqliteStore(database.part('registry'), log);
  onTestFinished(() => database.close());
  return { ...opened, store: { ...opened.store, close: () => database.close() } };
}

/** Writes and expects that it is kept. */
export async function keep(store: Store, ...changes: readonly StoreChange[]): Promise<void> {
  expect(await store.write(changes)).toMatchObject({ kind: 'written' });
}
