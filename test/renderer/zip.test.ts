import { crc32, inflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { zipOf } from '../../renderer/api/zip.ts';

/** Reads an archive by its directory, as unpacking programs do. */
function unzipped(archive: Buffer): Record<string, string> {
  const end = archive.length - 22;
  expect(archive.readUInt32LE(end)).toBe(0x06054b50);
  let at = archive.readUInt32LE(end + 16);
  return Object.fromEntries(
    Array.from({ length: archive.readUInt16LE(end + 10) }, () => {
      expect(archive.readUInt32LE(at)).toBe(0x02014b50);
      const nameLength = archive.readUInt16LE(at + 28);
      const name = archive.subarray(at + 46, at + 46 + nameLength).toString();
      const packedLength = archive.readUInt32LE(at + 20);
      const start = archive.readUInt32LE(at + 42) + 30 + nameLength;
      const content = inflateRawSync(archive.subarray(start, start + packedLength));
      expect(content.length).toBe(archive.readUInt32LE(at + 24));
      expect(crc32(content)).toBe(archive.readUInt32LE(at + 16));
      at += 46 + nameLength;
      return [name, content.toString()];
    }),
  );
}

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
