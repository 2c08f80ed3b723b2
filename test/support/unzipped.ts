import { crc32, inflateRawSync } from 'node:zlib';
import { expect } from 'vitest';

/** Reads an archive by its directory, as unpacking programs do. */
export function unzipped(archive: Buffer): Record<string, string> {
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
