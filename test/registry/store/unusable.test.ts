import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { migrate } from '../../../main/platform/sqlite-schema.ts';
import { MIGRATIONS } from '../../../main/registry/store/database.ts';
import { temporaryDirectory } from '../../support/gateway.ts';
import {
  document,
  keep,
  kept,
  newPath,
  openHere,
  openTestStore,
  otherProgram,
  put,
  storedProvider,
  unusable,
} from '../../support/store.ts';

/** A closed file with one provider. */
function goodFile(): string {
  const path = newPath();
  const { db, writer } = openHere(path);
  writer.commit([{ id: 1, changes: [put()] }]);
  db.close();
  return path;
}

/** Changes one byte of a file. */
function poke(path: string, at: number, value: number): void {
  const bytes = readFileSync(path);
  bytes[at] = value;
  writeFileSync(path, bytes);
}

test('a file that another program holds is locked, and opens once released', async () => {
  const path = goodFile();
  const other = otherProgram(path);
  other.exec('BEGIN EXCLUSIVE');
  const { reason, message } = await unusable(path);
  expect(reason).toBe('locked');
  expect(message).toBe(
    `The registry's database ${path} is in use by another program, such as a second Inglenook: stop that program (SQLITE_BUSY).`,
  );
  other.exec('ROLLBACK');
  expect((await openTestStore(path)).state.providers).toHaveLength(1);
});

test('a file that may only be read is read_only, and stays as it is', async () => {
  const path = goodFile();
  // A write version above 2 says that it may be read, not written (https://sqlite.org/fileformat.html, 1.3.3).
  poke(path, 18, 3);
  const before = readFileSync(path);
  const { reason, message } = await unusable(path);
  expect(reason).toBe('read_only');
  expect(message).toContain(`${path} is not writable: give the user that runs Inglenook`);
  expect(readFileSync(path).equals(before)).toBe(true);
});

test('a schema of a newer version is refused, and the file stays as it is', async () => {
  const path = goodFile();
  const other = otherProgram(path);
  other.pragma(`user_version = ${MIGRATIONS.length + 1}`);
  other.close();
  const before = readFileSync(path);
  const { reason, message } = await unusable(path);
  expect(reason).toBe('newer_schema');
  expect(message).toMatch(/written by a newer Inglenook \(schema 2, this one knows 1\)/);
  expect(message).toContain('install the newer version, or move the file away');
  expect(readFileSync(path).equals(before)).toBe(true);
});

test('a folder, a device or a file for a folder in place of the database is an expected result', async () => {
  const folder = temporaryDirectory();
  mkdirSync(join(folder, 'a'));
  expect(await unusable(join(folder, 'a'))).toMatchObject({
    reason: 'failed',
    message: expect.stringContaining('is a folder or a device: move it away'),
  });
  expect((await unusable('/dev/null')).message).toContain('is a folder or a device');
  writeFileSync(join(folder, 'file'), '');
  expect(await unusable(join(folder, 'file', 'registry.db'))).toMatchObject({
    reason: 'failed',
    message: expect.stringContaining('its folder is a file, move that away'),
  });
});

test('a later lock on the database costs the writes of its time, not those after it', async () => {
  const path = newPath();
  const { store, lines } = await openTestStore(path);
  await keep(store, document('a', '1'));
  const other = otherProgram(path);
  other.exec('BEGIN IMMEDIATE');
  expect(await store.write([document('a', '2')])).toEqual({
    kind: 'unwritten',
    message: expect.stringContaining(`${path} is in use by another program`),
  });
  other.exec('ROLLBACK');
  await keep(store, document('b', '3'));
  await store.close();
  expect(kept(path).documents).toEqual({ a: '1', b: '3' });
  expect(lines).toEqual([expect.stringMatching(/^store_unwritten /), 'store_written_again {}']);
});

test('a full disk costs the writes of its time, each of a transaction, and later ones succeed', () => {
  const path = newPath();
  const { db, writer } = openHere(path);
  const write = (id: number, json: string) => ({
    id,
    changes: [document(`${id}`, json)],
  });
  expect(writer.commit([write(1, '1')])).toMatchObject([{ result: { kind: 'written' } }]);
  // SQLite's own limit gives the very failure of a disk.
  db.pragma(`max_page_count = ${Number(db.pragma('page_count', { simple: true }))}`);
  const full = writer.commit([write(2, '2'), write(3, `"${'x'.repeat(100_000)}"`)]);
  const result = {
    kind: 'unwritten',
    message: `The registry's database ${path} cannot grow: the disk is full, free some space on it (SQLITE_FULL).`,
  };
  expect(full).toEqual([
    { id: 2, result },
    { id: 3, result },
  ]);
  db.pragma('max_page_count = 1000');
  expect(writer.commit([write(4, '4')])).toMatchObject([{ result: { kind: 'written' } }]);
  db.close();
  expect(kept(path).documents).toEqual({ 1: '1', 4: '4' });
});

test('a migration that fails half way leaves the file at the step before it', () => {
  const path = goodFile();
  const { db } = openHere(path);
  const second = 'ALTER TABLE providers ADD COLUMN label TEXT;';
  const broken = `CREATE TABLE labels (id TEXT); DELETE FROM providers; SELECT nonsense;`;
  expect(() => migrate(db, [...MIGRATIONS, second, broken])).toThrow('nonsense');
  expect(db.pragma('user_version', { simple: true })).toBe(2);
  expect(db.prepare('SELECT id, label FROM providers').all()).toEqual([
    { id: storedProvider().id, label: null },
  ]);
  expect(db.prepare(`SELECT name FROM sqlite_schema WHERE name = 'labels'`).all()).toEqual([]);
  // With the step fixed it continues from there.
  expect(migrate(db, [...MIGRATIONS, second, 'CREATE TABLE labels (id TEXT);'])).toEqual({
    kind: 'current',
  });
  expect(db.pragma('user_version', { simple: true })).toBe(3);
});
