import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openUsageDatabase } from '../../../main/gateway/usage/database.ts';
import { temporaryDirectory } from '../../support/gateway.ts';

test('a usage database of a version without electricity and reading saved keeps its figures', () => {
  const path = join(temporaryDirectory(), 'usage.db');
  const open = () => {
    const opened = openUsageDatabase(path, 0);
    if (opened.kind !== 'open') throw new Error(opened.message);
    return opened.db;
  };
  const first = open();
  for (const later of ['energyMj', 'energyNano', 'readingSavedMs'])
    first.exec(`ALTER TABLE usage DROP COLUMN ${later}`);
  first.pragma('user_version = 2');
  first.exec(
    "INSERT INTO usage VALUES ('day', 0, 'local', '', 'm', '', 1, 0, 0, 9, 8, 0, 0, 1, 1, 1, 8, 0, 7)",
  );
  first.close();
  const second = open();
  expect(
    second.prepare('SELECT savedNano, energyMj, energyNano, readingSavedMs FROM usage').get(),
  ).toEqual({
    savedNano: 7,
    energyMj: 0,
    energyNano: 0,
    readingSavedMs: 0,
  });
  second.close();
});
