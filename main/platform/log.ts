import { createWriteStream, mkdirSync, renameSync, statSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { visible } from '#shared/visible.ts';

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

type Fields = Readonly<Record<string, string | number | boolean | null>>;

/** Fields never hold headers, keys, prompts or answers. */
export type Log = (level: LogLevel, event: string, fields?: Fields) => void;

const RANK: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 };
/** Two files of this size are kept. */
const MAX_FILE_BYTES = 5 * 1024 * 1024;

/** For tests. */
export const silentLog: Log = () => {};

/** Appends JSON lines to `switchyard.log` in `directory`. When the disk fails, lines are lost without an error. */
export function createFileLog(directory: string, level: LogLevel): Log {
  const path = join(directory, 'switchyard.log');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  let bytes = sizeOf(path);
  let stream = open(path);
  return (lineLevel, event, fields) => {
    if (RANK[lineLevel] > RANK[level]) return;
    const entry = { time: new Date().toISOString(), level: lineLevel, event, ...fields };
    const line = `${visible(JSON.stringify(entry))}\n`;
    bytes += line.length;
    if (bytes > MAX_FILE_BYTES) {
      stream.end();
      rotate(path);
      stream = open(path);
      bytes = line.length;
    }
    stream.write(line);
  };
}

function open(path: string): WriteStream {
  const stream = createWriteStream(path, { flags: 'a', mode: 0o600 });
  stream.on('error', () => {});
  return stream;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function rotate(path: string): void {
  try {
    renameSync(path, `${path}.1`);
  } catch {
    // The next rotation tries again; until then the file grows.
  }
}
