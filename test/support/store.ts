import { join } from 'node:path';
import SqliteDatabase, { type Database } from 'better-sqlite3';
import { expect, onTestFinished } from 'vitest';
import type { Log } from '../../main/platform/log.ts';
import {
  createWriter,
  type StoreContent,
  openDatabase,
  type Writer,
} from '../../main/registry/store/database.ts';
import { type OpenedStore, openStore } from '../../main/registry/store/open-store.ts';
import type {
  StoreChange,
  Store,
  StoredProvider,
  StoredState,
} from '../../main/registry/store/store.ts';
import { agentRecord, gpuDevice } from './agent-record.ts';
import { createManualClock } from './clock.ts';
import { temporaryDirectory } from './gateway.ts';

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
    ...changed,
  };
}

/** The change that keeps a provider. */
export const put = (changed: Partial<StoredProvider> = {}): StoreChange => ({
  kind: 'provider',
  provider: storedProvider(changed),
});

/** The change that keeps a document. */
export const document = (name: string, json: string): StoreChange => ({
  kind: 'document',
  name,
  json,
});

/** The path of a database that does not exist yet. */
export const newPath = (): string => join(temporaryDirectory(), 'registry.db');

/** A store on a file; it is closed with the test. */
export interface TestStore {
  readonly store: Store;
  readonly state: StoredState;
  readonly warning: string | null;
  /** Each line of the log: the event and its fields. */
  readonly lines: readonly string[];
}

/** Opens the store as the program does; the clock stands at 2026-01-01 unless `atMs` says otherwise. */
export async function opening(
  path: string,
  atMs?: number,
): Promise<{ readonly opened: OpenedStore; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  const log: Log = (_level, event, fields) =>
    void lines.push(`${event} ${JSON.stringify(fields ?? {})}`);
  const clock = createManualClock();
  if (atMs !== undefined) clock.advance(atMs - clock.now());
  const opened = await openStore(path, { log, clock });
  if (opened.kind === 'open') onTestFinished(() => opened.store.close());
  return { opened, lines };
}

/** Opens a store that is expected to open. */
export async function openTestStore(path: string, atMs?: number): Promise<TestStore> {
  const { opened, lines } = await opening(path, atMs);
  if (opened.kind !== 'open') throw new Error(opened.message);
  return { ...opened, lines };
}

/** Why the store cannot be opened. */
export async function unusable(path: string) {
  const { opened, lines } = await opening(path);
  if (opened.kind === 'open') throw new Error('it opened');
  expect(lines).toEqual([
    `store_unusable ${JSON.stringify({ reason: opened.reason, error: opened.message })}`,
  ]);
  return opened;
}

/** Writes and expects that it is kept. */
export async function keep(store: Store, ...changes: readonly StoreChange[]): Promise<void> {
  expect(await store.write(changes)).toMatchObject({ kind: 'written' });
}

/** A database that is open in the thread of the test. */
interface OpenHere extends StoreContent {
  readonly db: Database;
  readonly warning: string | null;
  readonly writer: Writer;
}

/** Opens the file as the thread of the store does, but in this thread; it is closed with the test. */
export function openHere(path: string, nowMs = Date.UTC(2026, 0, 1)): OpenHere {
  const opened = openDatabase(path, nowMs);
  if (opened.kind !== 'open') throw new Error(opened.message);
  onTestFinished(() => void opened.db.close());
  const { db, loaded, warning } = opened;
  return { db, warning, writer: createWriter(db, path), ...loaded };
}

/** What was kept, as the next start finds it. */
export function kept(path: string, nowMs?: number): StoredState {
  const { db, state } = openHere(path, nowMs);
  db.close();
  return state;
}

/** The file as another program sees it; it is closed with the test. */
export function otherProgram(path: string): Database {
  const db = new SqliteDatabase(path);
  onTestFinished(() => void db.close());
  return db;
}
