import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { outcomeOf, type RequestRow } from '#shared/live.ts';
import { DATABASE_FILE } from '../../../main/app/database.ts';
import { queryOf, type UsageWrite } from '../../../main/gateway/usage/queries.ts';
import { createUsageRecorder } from '../../../main/gateway/usage/recorder.ts';
import type { UsageOperations } from '../../../main/gateway/usage/database.ts';
import type { DatabasePart } from '../../../main/platform/database/client.ts';
import { silentLog } from '../../../main/platform/log.ts';
import { createManualClock } from '../../support/clock.ts';
import { configOf } from '../../support/config.ts';
import { openDatabaseHere } from '../../support/database.ts';
import { temporaryDirectory } from '../../support/gateway.ts';
import { attempt, request } from '../../renderer/builders.ts';

type UsagePart = DatabasePart<UsageOperations>;

function recorderOn(part: UsagePart, clock = createManualClock(), joules = 0) {
  const config = configOf({});
  return createUsageRecorder(part, {
    clock,
    config: () => config,
    budgets: { spent() {}, swap() {} },
    energyOf: () => ({ idle_w: null, models: [{ model: 'm', joules, tokens: 50 }] }),
    keyLimits: { requested() {}, used() {} },
  });
}

/** One that writes to a database of its own. */
async function startRecorder(joules = 0) {
  const path = join(temporaryDirectory(), DATABASE_FILE);
  const clock = createManualClock();
  const database = await openDatabaseHere(path, { log: silentLog, clock });
  onTestFinished(() => database.close());
  const part = database.part<UsageOperations>('usage');
  const recorder = recorderOn(part, clock, joules);
  const figures = async () => {
    const found = await part.read('history', queryOf('hour', clock.now()));
    return found?.points[0]?.figures ?? null;
  };
  return { path, recorder, part, clock, figures };
}

/** Refuses every write, as a full disk does, until it is told to stop. */
function refusing(path: string): () => void {
  const db = new Database(path);
  onTestFinished(() => void db.close());
  db.exec(`CREATE TRIGGER full BEFORE INSERT ON usage BEGIN SELECT raise(ABORT, 'full'); END`);
  return () => void db.exec('DROP TRIGGER full');
}

const CALL = {
  ...attempt({
    provider: 'prv_1',
    model: 'm',
    tokens: { input: 7, output: 5, cached: 0, estimated: false },
  }),
  key: null,
  isFailure: false,
  isElsewhere: false,
};

test('usage and requests that cannot be written are kept until they are, and counted once', async () => {
  const { path, recorder, part, clock, figures } = await startRecorder();
  const repair = refusing(path);
  const ask = (id: string) => {
    recorder.callEnded({ ...CALL, atMs: clock.now() });
    const row = request(id, { state: 'done' });
    recorder.requestEnded(row, outcomeOf(row), clock.now());
  };
  for (const id of ['r1', 'r2']) {
    ask(id);
    await recorder.history('hour');
    expect(part.problem()).not.toBeNull();
  }
  repair();
  ask('r3');
  await recorder.history('hour');
  expect(part.problem()).toBeNull();
  expect(await figures()).toMatchObject({ calls: 3, inputTokens: 21, outputTokens: 15 });
  const kept = await Promise.all(['r1', 'r2', 'r3'].map((id) => part.read('request', id)));
  expect(kept.map((row) => row?.id)).toEqual(['r1', 'r2', 'r3']);
  await recorder.close();
});

test('what a call used is written a second after its end', async () => {
  const { recorder, clock, figures } = await startRecorder();
  recorder.callEnded({ ...CALL, atMs: clock.now() });
  clock.advance(1000);
  expect(await figures()).toMatchObject({ inputTokens: 7, outputTokens: 5 });
  await recorder.close();
});

test('a failed write is tried again even if no request comes', async () => {
  const { path, recorder, clock, figures } = await startRecorder();
  const repair = refusing(path);
  recorder.callEnded({ ...CALL, atMs: clock.now() });
  await recorder.history('hour');
  repair();
  clock.advance(10_000);
  expect(await figures()).toMatchObject({ inputTokens: 7 });
  await recorder.close();
});

test.each([1.7e308, Number.POSITIVE_INFINITY, Number.NaN, 0.1])(
  'a figure of %d joules keeps no other figure from the disk',
  async (joules) => {
    const { recorder, part, clock, figures } = await startRecorder(joules);
    for (let round = 0; round < 3; round += 1) {
      recorder.callEnded({ ...CALL, atMs: clock.now() });
      await recorder.history('hour');
      expect(part.problem()).toBeNull();
    }
    expect(await figures()).toMatchObject({ inputTokens: 21, outputTokens: 15 });
    await recorder.close();
  },
);

test('all requests of a burst are counted, and its newest rows written: a thousand answered, a thousand others', () => {
  const writes: UsageWrite[] = [];
  const part: UsagePart = {
    read: () => Promise.resolve(null),
    async write(_name, write) {
      writes.push(write as UsageWrite);
      return { kind: 'written' };
    },
    problem: () => null,
  };
  const recorder = recorderOn(part);
  const failed = Array.from({ length: 1500 }, (_, n) => request(`f${n}`, { state: 'failed' }));
  const done = Array.from({ length: 5000 }, (_, n) => request(`d${n}`, { state: 'done' }));
  for (const row of [...failed, ...done]) recorder.requestEnded(row, outcomeOf(row), 0);
  void recorder.close();
  const [write] = writes;
  expect(writes).toHaveLength(1);
  expect(write?.increments).toMatchObject([{ figures: { calls: 6500, failures: 1500 } }]);
  const rows = (write?.rows ?? []).map(({ json }) => JSON.parse(json) as RequestRow);
  expect(rows.length).toBeLessThan(2500);
  expect(rows.filter(({ state }) => state === 'failed')).toEqual(failed.slice(-1000));
  expect(rows.slice(-1000)).toEqual(done.slice(-1000));
});
