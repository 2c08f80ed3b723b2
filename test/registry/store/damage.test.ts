import { copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { StoreChange } from '../../../main/registry/store/store.ts';
import {
  document,
  keep,
  newPath,
  openHere,
  openTestStore,
  otherProgram,
  put,
  storedProvider,
} from '../../support/store.ts';

const PAGE = 4096;
/** Where a file goes that is damaged at the moment at which the clocks of the tests stand. */
const ASIDE = (path: string) => `${path}.bad-2026-01-01T00-00-00.000Z`;

/** A closed file of some hundred pages. */
function filledFile(): string {
  const path = newPath();
  const { db, writer } = openHere(path);
  const changes = Array.from({ length: 300 }, (_, n): StoreChange[] => [
    put({ id: `prv_${n}` }),
    { kind: 'event', event: { providerId: `prv_${n}`, at: 0, kind: 'enrolled', text: 'enrolled' } },
  ]);
  expect(writer.commit([{ id: 1, changes: changes.flat() }])).toEqual([
    { id: 1, result: { kind: 'written' } },
  ]);
  db.close();
  expect(statSync(path).size).toBeGreaterThan(100 * PAGE);
  return path;
}

/** Overwrites bytes of a file in place. */
function overwrite(path: string, at: number, bytes: Buffer): void {
  const whole = readFileSync(path);
  bytes.copy(whole, at);
  writeFileSync(path, whole);
}

const noise = (length: number) =>
  Buffer.from(Array.from({ length }, (_, i) => (i * 197 + 61) % 256));

test.each<[what: string, damage: (path: string) => void]>([
  [
    'a text',
    (path) => writeFileSync(path, 'this is no database, but a text of some length\n'.repeat(90)),
  ],
  ['a few bytes', (path) => writeFileSync(path, 'SQLite')],
  ['a broken header', (path) => overwrite(path, 0, Buffer.from('SQlite'))],
  ['a broken first page', (path) => overwrite(path, 100, noise(PAGE - 100))],
  ['broken pages in the middle', (path) => overwrite(path, 20 * PAGE, noise(60 * PAGE))],
  ['zeroed pages in the middle', (path) => overwrite(path, 20 * PAGE, Buffer.alloc(60 * PAGE))],
  [
    'a broken page that only histories are in',
    (path) => {
      const db = otherProgram(path);
      const root = db.prepare(`SELECT rootpage FROM sqlite_schema WHERE name = 'events'`).pluck();
      const page = Number(root.get());
      db.close();
      overwrite(path, (page - 1) * PAGE, noise(PAGE));
    },
  ],
  ['its last half cut off', (path) => truncateSync(path, Math.floor(statSync(path).size / 2))],
  ['all but its first page cut off', (path) => truncateSync(path, PAGE)],
])('a database file with %s is set aside and a fresh one started', (_, damage) => {
  const path = filledFile();
  damage(path);
  const damaged = readFileSync(path);
  const { db, state, warning, writer } = openHere(path);
  expect(state).toEqual({ providers: [], enrollments: [], documents: {} });
  expect(warning).toContain(`It was kept as ${ASIDE(path)} and a fresh one was started`);
  expect(readFileSync(ASIDE(path)).equals(damaged)).toBe(true);
  expect(writer.commit([{ id: 1, changes: [put()] }])).toMatchObject([
    { result: { kind: 'written' } },
  ]);
  db.close();
  const again = openHere(path);
  expect([again.state.providers, again.warning]).toEqual([[storedProvider()], null]);
});

test('a database file that was set aside is reported to the owner, by the answer and in the log', async () => {
  const path = filledFile();
  overwrite(path, 0, noise(PAGE));
  const { store, warning, lines } = await openTestStore(path);
  expect(warning).toContain('add the other machines again');
  expect(lines).toEqual([`store_damaged ${JSON.stringify({ error: warning })}`]);
  await keep(store, put());
});

test('the log of a damaged database file never ends up alongside the fresh one', () => {
  const source = filledFile();
  const { writer } = openHere(source);
  writer.commit([{ id: 1, changes: [document('in the log', '1')] }]);
  // As a power cut leaves it: the file, and a log that was not worked in yet.
  const path = newPath();
  for (const suffix of ['', '-wal']) copyFileSync(source + suffix, path + suffix);
  overwrite(path, 20 * PAGE, noise(60 * PAGE));
  const fresh = openHere(path);
  expect(fresh.state).toEqual({ providers: [], enrollments: [], documents: {} });
  fresh.writer.commit([{ id: 1, changes: [document('new', '1')] }]);
  fresh.db.close();
  expect(openHere(path).state.documents).toEqual({ new: '1' });
  // What was in the log is with the file that was set aside.
  const documents = otherProgram(ASIDE(path)).prepare('SELECT name FROM documents').all();
  expect(documents).toEqual([{ name: 'in the log' }]);
});

/** A file whose rows another hand has changed. */
function tampered(sql: string): string {
  const path = newPath();
  const { db, writer } = openHere(path);
  const enrollment = { digest: 'feed', expiresAt: Date.UTC(2027, 0) };
  const changes: readonly StoreChange[] = [
    put({ id: 'prv_a' }),
    put({ id: 'prv_b' }),
    document('a', '{}'),
    document('b', '{}'),
    { kind: 'enrollment', enrollment },
  ];
  writer.commit([{ id: 1, changes }]);
  db.exec(sql);
  db.close();
  return path;
}

test.each([
  [`UPDATE providers SET id = '' WHERE id = 'prv_b'`, '?', 'id: too_small'],
  [`UPDATE providers SET sequence = -1 WHERE id = 'prv_b'`, 'prv_b', 'sequence: too_small'],
  [`UPDATE providers SET enrolled_at = 9e18 WHERE id = 'prv_b'`, 'prv_b', 'enrolled_at: too_big'],
])('a provider that cannot be read is left out: %s', (sql, first, problem) => {
  const { state, unreadable } = openHere(tampered(sql));
  expect(state.providers.map(({ id }) => id)).toEqual(['prv_a']);
  expect(unreadable).toEqual([{ table: 'providers', part: 'row', first, problem, rows: 1 }]);
});

test.each([
  [`record = '{"chip":'`, 'it: invalid_type'],
  [`record = '[]'`, 'it: invalid_type'],
  [
    `record = json_set(record, '$.gpu.devices[0].util_gpu', 'sk-secret')`,
    'gpu.devices.0.util_gpu: invalid_type',
  ],
])('a record that cannot be read counts as never sent: %s', (set, problem) => {
  const { state, unreadable } = openHere(
    tampered(`UPDATE providers SET ${set} WHERE id = 'prv_b'`),
  );
  expect(state.providers).toEqual([
    storedProvider({ id: 'prv_a' }),
    storedProvider({ id: 'prv_b', record: null, lastHeartbeatAt: null }),
  ]);
  expect(unreadable).toEqual([
    { table: 'providers', part: 'record', first: 'prv_b', problem, rows: 1 },
  ]);
});

test('the log names what could not be read by its place, and never by its content', async () => {
  const path = tampered(
    `UPDATE providers SET token_salt = '', record = 'sk-secret' WHERE id = 'prv_b';
     UPDATE providers SET record = '"sk-secret"' WHERE id = 'prv_a'`,
  );
  const { lines, warning } = await openTestStore(path);
  expect(warning).toBeNull();
  const [part, row] = [
    '{"table":"providers","first":"prv_a","part":"record","problem":"it: invalid_type","rows":1}',
    '{"table":"providers","part":"row","first":"prv_b","problem":"token_salt: too_small","rows":1}',
  ];
  expect(lines).toEqual([`store_part_left_out ${part}`, `store_row_left_out ${row}`]);
});

test('damage to pages under a running store is reported, and the next start sets the file aside', async () => {
  const path = filledFile();
  const { store, lines } = await openTestStore(path);
  truncateSync(path, 2 * PAGE);
  const ids = Array.from({ length: 300 }, (_, n) => `prv_${n}`);
  const told = await Promise.all(ids.map((id) => store.events(id, 5)));
  expect(told.flat().length).toBeLessThan(300);
  const results = await Promise.all(ids.map((id) => store.write([put({ id, sequence: 1 })])));
  const messages = results.map((result) => (result.kind === 'unwritten' ? result.message : ''));
  expect(messages.join()).toMatch(/is damaged: restart Inglenook|cannot be read or written/);
  expect(lines.some((line) => line.startsWith('store_unwritten'))).toBe(true);
  await store.close();
  expect(openHere(path).warning).toContain('a fresh one was started');
});
