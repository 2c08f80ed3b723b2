import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { createStoreClient, createMemoryStore } from '../../../main/registry/store/open-store.ts';
import type { StoreChange } from '../../../main/registry/store/store.ts';
import { put, storedProvider } from '../../support/store.ts';

const ENDED =
  "The registry's database stopped working: restart Inglenook, and check its log if that does not help.";
const STATE = '{ providers: [], enrollments: [], documents: {} }';
const OPENS = `parentPort.postMessage({ kind: 'opening', opening: { kind: 'open', state: ${STATE}, unreadable: [], warning: null } });`;

/** A client of a thread that runs these lines in place of the database. */
function clientOf(lines: string) {
  const log: string[] = [];
  const worker = new Worker(`const { parentPort } = require('node:worker_threads');\n${lines}`, {
    eval: true,
    stderr: true,
  });
  onTestFinished(async () => void (await worker.terminate()));
  const client = createStoreClient(worker, (level, event, fields) => {
    log.push(`${level} ${event} ${JSON.stringify(fields ?? {})}`);
  });
  return { ...client, log, worker };
}

test.each([
  ['throws', `throw new RangeError('about sk-secret');`],
  ['ends', 'process.exit(1);'],
])('a thread that %s has every waiting call answered, and every later one', async (_, end) => {
  const { store, opening, log } = clientOf(
    `${OPENS} parentPort.on('message', ({ kind }) => { if (kind === 'events') { ${end} } });`,
  );
  expect((await opening).kind).toBe('open');
  const writes = [store.write([put()]), store.write([])];
  const events = store.events('prv_1', 5);
  const unwritten = { kind: 'unwritten', message: ENDED };
  expect(await Promise.all(writes)).toEqual([unwritten, unwritten]);
  expect(await events).toEqual([]);
  expect(await store.write([put()])).toEqual(unwritten);
  expect(await store.events('prv_1', 5)).toEqual([]);
  await store.close();
  expect(log.at(-1)).toBe('error store_ended {"unanswered":2}');
  expect(log.join('\n')).not.toContain('sk-secret');
});

test('a failure of writes is in the log once, and so is its end', async () => {
  const { store, log } = clientOf(
    `${OPENS}
    const outcomes = ['full', 'full', null, 'full', 'locked', null, null];
    parentPort.on('message', ({ kind, id }) => {
      if (kind === 'close') process.exit();
      const message = outcomes.shift();
      const result = message === null ? { kind: 'written' } : { kind: 'unwritten', message };
      parentPort.postMessage({ kind: 'settled', writes: [{ id, result }] });
    });`,
  );
  for (let n = 0; n < 7; n += 1) await store.write([]);
  await store.close();
  expect(log).toEqual([
    'error store_unwritten {"error":"full"}',
    'info store_written_again {}',
    'error store_unwritten {"error":"full"}',
    'error store_unwritten {"error":"locked"}',
    'info store_written_again {}',
  ]);
});

const WHY = 'the file is locked';
const { id } = storedProvider();
const tell = (n: number, providerId = id): StoreChange => ({
  kind: 'event',
  event: { providerId, at: n, kind: 'status', text: `event ${n}` },
});

test('heartbeats and histories continue without a database', async () => {
  const store = createMemoryStore(WHY);
  expect(await store.write([put(), tell(1), tell(2), tell(3, 'prv_unknown')])).toEqual({
    kind: 'written',
  });
  expect((await store.events(id, 10)).map(({ at }) => at)).toEqual([2, 1]);
  expect((await store.events(id, 1)).map(({ at }) => at)).toEqual([2]);
  expect(await store.events(id, -1)).toEqual([]);
  expect(await store.events('prv_unknown', 10)).toEqual([]);
  await store.write(Array.from({ length: 60 }, (_, n) => tell(n)));
  expect(await store.events(id, 1000)).toHaveLength(50);
  await store.write([put({ sequence: 2 })]);
  expect(await store.events(id, 1000)).toHaveLength(50);
  await store.write([{ kind: 'provider_removed', id }, put()]);
  expect(await store.events(id, 1000)).toEqual([]);
  await store.close();
});

test.each<[string, StoreChange]>([
  ['made', { kind: 'enrollment', enrollment: { digest: 'd', expiresAt: 1 } }],
  ['used', { kind: 'enrollment_removed', digest: 'd' }],
])('no enrolment is %s without a database, and nothing of its write is kept', async (_, change) => {
  const store = createMemoryStore(WHY);
  expect(await store.write([put(), change])).toEqual({ kind: 'unwritten', message: WHY });
  await store.write([tell(1)]);
  expect(await store.events(id, 10)).toEqual([]);
});
