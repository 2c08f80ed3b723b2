import { expect, test } from 'vitest';
import { zipOf } from '../../renderer/api/access.ts';
import { unzipped } from '../support/unzipped.ts';

test('an archive gives back its files, with names and words in any script', async () => {
  const entries = [
    { name: 'status.json', text: JSON.stringify({ ok: true }).repeat(500) },
    { name: 'größe.txt', text: 'Zürich, 東京' },
    { name: 'empty.txt', text: '' },
  ];
  const archive = await zipOf(entries, new Date(2026, 10, 22, 9, 30));
  const found = unzipped(Buffer.from(await archive.arrayBuffer()));
  expect(found).toEqual(Object.fromEntries(entries.map(({ name, text }) => [name, text])));
});
