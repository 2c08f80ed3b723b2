import { open } from 'node:fs/promises';

/** Limit on what is read from the end of the file. */
const MAX_READ_BYTES = 512 * 1024;

/** The last `count` lines of the file at `path`, oldest first; null if it cannot be read. */
export async function logTail(path: string, count: number): Promise<readonly string[] | null> {
  const file = await open(path).catch(() => null);
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - MAX_READ_BYTES);
    const buffer = Buffer.alloc(size - from);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
    const lines = buffer
      .toString('utf8', 0, bytesRead)
      .split('\n')
      .slice(from > 0 ? 1 : 0, -1);
    return lines.slice(-count);
  } catch {
    return null;
  } finally {
    await file.close();
  }
}
