import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import SqliteDatabase, { type Database } from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { connectDatabase } from '../../main/platform/database/client.ts';
import { openFile } from '../../main/platform/database/file.ts';
import { createRunner, type Request } from '../../main/platform/database/thread.ts';
import { createManualClock } from '../support/clock.ts';
import { openingHere } from '../support/database.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { createKeptLog } from '../support/log.ts';

const notesIn = (db: Database) => ({
  reads: {
    all: () => db.prepare<[], string>('SELECT text FROM notes ORDER BY id').pluck().all(),
    length() {
      // So that pages come from the file again.
      db.pragma('shrink_memory');
      return db.prepare<[], number>('SELECT sum(length(text)) FROM notes').pluck().get();
    },
  },
  writes: {
    add(...texts: string[]): void {
      for (const text of texts) db.prepare('INSERT INTO notes (text) VALUES (?)').run(text);
    },
  },
});

type Notes = ReturnType<typeof notesIn>;

const MIGRATIONS = ['CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;'];
const SCHEMA = { migrations: MIGRATIONS, parts: { notes: notesIn } };

const newPath = () => join(temporaryDirectory(), 'a.db');

/** Opens a database as the program does, in the thread of the test; it is closed with the test. */
async function open(path: string) {
  const { log, lines } = createKeptLog();
  const database = await openingHere(SCHEMA)(path, { log, clock: createManualClock() });
  onTestFinished(() => database.close());
  return { ...database, notes: database.part<Notes>('notes'), lines };
}

/** The file itself, as the thread opens it. */
function openHere(path: string, migrations = MIGRATIONS) {
  const opened = openFile(path, migrations, 0);
  if (opened.kind === 'unusable') throw new Error(opened.message);
  onTestFinished(() => void opened.db.close());
  return opened.db;
}

/** The file as another program sees it; it is closed with the test. */
function otherProgram(path: string): Database {
  const db = new SqliteDatabase(path);
  onTestFinished(() => void db.close());
  return db;
}

/** A closed file with these notes. */
function fileWith(...texts: readonly string[]): string {
  const path = newPath();
  const db = openHere(path);
  notesIn(db).writes.add(...texts);
  db.close();
  return path;
}

const WRITTEN = { kind: 'written' };

const PAGE = 4096;
/** Where a file goes that is damaged at the moment at which the clocks of the tests stand. */
const ASIDE = (path: string) => `${path}.bad-2026-01-01T00-00-00.000Z`;

/** A closed file of some hundred pages. */
function filledFile(): string {
  const path = fileWith(...Array.from({ length: 300 }, (_, n) => `${n} `.padEnd(2000, 'x')));
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
  ['a broken first page', (path) => overwrite(path, 100, noise(PAGE - 100))],
  ['broken pages in the middle', (path) => overwrite(path, 20 * PAGE, noise(60 * PAGE))],
  ['one broken page', (path) => overwrite(path, 40 * PAGE, noise(PAGE))],
  ['zeroed pages in the middle', (path) => overwrite(path, 20 * PAGE, Buffer.alloc(60 * PAGE))],
  ['its last half cut off', (path) => truncateSync(path, Math.floor(statSync(path).size / 2))],
  ['all but its first page cut off', (path) => truncateSync(path, PAGE)],
])('a database file with %s is set aside as it is, and a fresh one started', async (_, damage) => {
  const path = filledFile();
  damage(path);
  const damaged = readFileSync(path);
  const database = await open(path);
  const { notice, notes, lines } = database;
  expect(notice).toContain(`It was kept as ${ASIDE(path)} and a fresh one was started`);
  expect(lines).toEqual([`database_damaged ${JSON.stringify({ error: notice })}`]);
  expect(readFileSync(ASIDE(path)).equals(damaged)).toBe(true);
  expect(await notes.read('all')).toEqual([]);
  expect(await notes.write('add', 'new')).toEqual(WRITTEN);
  await database.close();
  const again = await open(path);
  expect([await again.notes.read('all'), again.notice]).toEqual([['new'], null]);
});

test('the log of a damaged database file never ends up alongside the fresh one', async () => {
  const source = filledFile();
  notesIn(openHere(source)).writes.add('in the log');
  // As a power cut leaves it: the file, and a log that was not worked in yet.
  const path = newPath();
  for (const suffix of ['', '-wal']) copyFileSync(source + suffix, path + suffix);
  overwrite(path, 20 * PAGE, noise(60 * PAGE));
  const { notes } = await open(path);
  await notes.write('add', 'new');
  expect(await notes.read('all')).toEqual(['new']);
  const last = 'SELECT text FROM notes WHERE id = 301';
  expect(otherProgram(ASIDE(path)).prepare(last).all()).toEqual([{ text: 'in the log' }]);
});

test('damage to pages under an open database is reported, and the next start sets the file aside', async () => {
  const path = filledFile();
  const database = await open(path);
  const { notes, lines } = database;
  truncateSync(path, 2 * PAGE);
  expect(await notes.read('length')).toBeNull();
  const written = await notes.write('add', 'x'.repeat(10 * PAGE));
  expect(written).toMatchObject({
    kind: 'unwritten',
    message: expect.stringMatching(/is damaged: restart Inglenook|cannot be read or written/),
  });
  const events = lines.map((line) => line.split(' ')[0]);
  expect(events).toEqual(['database_unread', 'database_unwritten']);
  await database.close();
  expect((await open(path)).notice).toContain('a fresh one was started');
});

test.each<[what: string, spoil: (path: string) => void, says: string]>([
  [
    'that another program holds',
    (path) => otherProgram(path).exec('BEGIN EXCLUSIVE'),
    'is in use by another program, such as a second Inglenook: stop that program (SQLITE_BUSY).',
  ],
  [
    'that may only be read',
    // A write version above 2 says that it may be read, not written (https://sqlite.org/fileformat.html, 1.3.3).
    (path) => overwrite(path, 18, Buffer.from([3])),
    'is not writable: give the user that runs Inglenook write access',
  ],
  [
    'of a newer version',
    (path) => {
      const other = otherProgram(path);
      other.pragma('user_version = 2');
      other.close();
    },
    'was written by a newer Inglenook and was left untouched: install the newer version',
  ],
])('a database file %s is refused for that reason, and stays as it is', async (_, spoil, says) => {
  const path = fileWith('a');
  spoil(path);
  const before = readFileSync(path);
  const { notice, notes, lines } = await open(path);
  expect(notice).toContain(`The database ${path} ${says}`);
  expect(lines).toEqual([`database_unusable ${JSON.stringify({ error: notice })}`]);
  expect(await notes.write('add', 'b')).toEqual({ kind: 'unwritten', message: notice });
  expect([await notes.read('all'), notes.problem()]).toEqual([null, notice]);
  expect(readFileSync(path).equals(before)).toBe(true);
});

test('a folder, a device or a file for a folder in place of the database is an expected result', async () => {
  const path = newPath();
  mkdirSync(path);
  expect((await open(path)).notice).toContain('is a folder or a device: move it away');
  expect((await open('/dev/null')).notice).toContain('is a folder or a device');
  writeFileSync(join(dirname(path), 'file'), '');
  const inFile = (await open(join(dirname(path), 'file', 'a.db'))).notice;
  expect(inFile).toContain('its folder is a file, move that away');
});

test('the database file and all that belongs to it are for their owner alone', async () => {
  const path = newPath();
  const { notes } = await open(path);
  await notes.write('add', 'a');
  const modes = ['', '-wal', '-shm'].map((suffix) => statSync(path + suffix).mode & 0o777);
  expect(modes).toEqual([0o600, 0o600, 0o600]);
});

test('a later lock on the database costs the writes of its time, and is in the log once, as is its end', async () => {
  const path = newPath();
  const { notes, lines } = await open(path);
  await notes.write('add', 'a');
  const other = otherProgram(path);
  other.exec('BEGIN IMMEDIATE');
  for (const text of ['b', 'c'])
    expect(await notes.write('add', text)).toEqual({
      kind: 'unwritten',
      message: expect.stringContaining(`${path} is in use by another program`),
    });
  expect(notes.problem()).toContain('is in use by another program');
  other.exec('ROLLBACK');
  expect(await notes.write('add', 'd')).toEqual(WRITTEN);
  expect([await notes.read('all'), notes.problem()]).toEqual([['a', 'd'], null]);
  expect(lines).toEqual([
    expect.stringMatching(/^database_unwritten /),
    'database_written_again {"part":"notes"}',
  ]);
});

test('a full disk costs the writes of its time, and later ones succeed', () => {
  const path = newPath();
  const db = openHere(path);
  const run = createRunner(db, path, SCHEMA.parts);
  const write = (id: number, ...input: readonly string[]): Request => {
    return { kind: 'write', id, part: 'notes', name: 'add', input };
  };
  // SQLite's own limit gives the very failure of a disk.
  db.pragma(`max_page_count = ${Number(db.pragma('page_count', { simple: true }))}`);
  const problem = `The database ${path} cannot grow: the disk is full, free some space on it (SQLITE_FULL).`;
  const full = run([write(1, 'x'.repeat(100_000)), write(2, 'y'.repeat(100_000))]);
  expect(full).toEqual([
    { id: 1, problem },
    { id: 2, problem },
  ]);
  db.pragma('max_page_count = 1000');
  expect(run([write(3, 'z')])).toEqual([{ id: 3, problem: null }]);
  expect(notesIn(db).reads.all()).toEqual(['z']);
});

test('a migration that fails half way leaves the file at the step before it', () => {
  const path = fileWith('a');
  const second = 'ALTER TABLE notes ADD COLUMN label TEXT;';
  const broken = 'CREATE TABLE labels (id TEXT); DELETE FROM notes; SELECT nonsense;';
  expect(openFile(path, [...MIGRATIONS, second, broken], 0)).toMatchObject({ kind: 'unusable' });
  const db = otherProgram(path);
  expect(db.pragma('user_version', { simple: true })).toBe(2);
  expect(db.prepare('SELECT text, label FROM notes').all()).toEqual([{ text: 'a', label: null }]);
  expect(db.prepare(`SELECT name FROM sqlite_schema WHERE name = 'labels'`).all()).toEqual([]);
  db.close();
  // If the step is mended, the file continues from there.
  const mended = openHere(path, [...MIGRATIONS, second, 'CREATE TABLE labels (id TEXT);']);
  expect(mended.pragma('user_version', { simple: true })).toBe(3);
});

test.each([
  ['throws', `throw new RangeError('about sk-secret');`],
  ['ends', 'process.exit(1);'],
])(
  'a database thread that %s has every waiting call answered, and every later one',
  async (_, end) => {
    const { log, lines } = createKeptLog();
    const thread = new Worker(
      `const { parentPort } = require('node:worker_threads');
    parentPort.postMessage({ kind: 'open', warning: null });
    parentPort.on('message', ({ kind }) => { if (kind === 'read') { ${end} } });`,
      { eval: true, stderr: true },
    );
    onTestFinished(async () => void (await thread.terminate()));
    const database = await connectDatabase(thread, { log });
    const notes = database.part<Notes>('notes');
    const message =
      'The database stopped working: restart Inglenook, and check its log if that does not help.';
    const unwritten = { kind: 'unwritten', message };
    const writes = [notes.write('add', 'a'), notes.write('add', 'b')];
    expect(await notes.read('all')).toBeNull();
    expect(await Promise.all(writes)).toEqual([unwritten, unwritten]);
    expect(await notes.write('add', 'c')).toEqual(unwritten);
    expect([await notes.read('all'), notes.problem()]).toEqual([null, message]);
    await database.close();
    expect(lines.at(-1)).toBe('database_ended {"unanswered":3}');
    expect(lines.join('\n')).not.toContain('sk-secret');
  },
);
