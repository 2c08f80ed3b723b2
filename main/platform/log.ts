import {
  appendFileSync,
  createWriteStream,
  mkdirSync,
  renameSync,
  statSync,
  type WriteStream,
} from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { visible } from '#shared/visible.ts';
import { isoTime } from './clock.ts';

type LogLevel = 'error' | 'warn' | 'info' | 'debug';

type Fields = Readonly<Record<string, string | number | boolean | null>>;

/** Fields never hold headers, keys, prompts or answers. */
export type Log = (level: LogLevel, event: string, fields?: Fields) => void;

/** `journal` is text for systemd's journal, which keeps the time and reads the level from a prefix. */
export type LogFormat = 'text' | 'json' | 'journal';

const RANK: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 };

/** For tests. */
export const silentLog: Log = () => {};

interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Writes one line, which ends with a line break. */
  readonly write: (line: string) => void;
}

export function createLog({ level, format, write }: LogOptions): Log {
  return (lineLevel, event, fields = {}) => {
    if (RANK[lineLevel] > RANK[level]) return;
    const line = FORMATS[format]({ time: isoTime(Date.now()), level: lineLevel, event }, fields);
    write(`${visible(line)}\n`);
  };
}

interface LineHead {
  readonly time: string;
  readonly level: string;
  readonly event: string;
}

export type LogRecord = LineHead & Fields;

/** Priorities of sd-daemon(3). */
const PRIORITY: Readonly<Record<string, string>> = { error: '3', warn: '4', info: '6', debug: '7' };

const FORMATS: Readonly<Record<LogFormat, (head: LineHead, fields: Fields) => string>> = {
  json: jsonLine,
  text: textLine,
  journal: (head, fields) => `<${PRIORITY[head.level] ?? '6'}>${eventText(head, fields)}`,
};

/** Joined as text, because building one object of head and fields takes as long as serialising it. */
function jsonLine(head: LineHead, fields: Fields): string {
  const [first, rest] = [JSON.stringify(head), JSON.stringify(fields)];
  return rest === '{}' ? first : `${first.slice(0, -1)},${rest.slice(1)}`;
}

/** As in `2026-01-31T12:00:00.000Z info  request status=200`. */
export function logText({ time, level, event, ...fields }: LogRecord): string {
  return textLine({ time, level, event }, fields);
}

function textLine(head: LineHead, fields: Fields): string {
  return `${head.time} ${head.level.padEnd(5)} ${eventText(head, fields)}`;
}

function eventText({ event }: LineHead, fields: Fields): string {
  let text = visible(event);
  for (const name of Object.keys(fields)) text += ` ${name}=${valueText(fields[name])}`;
  return text;
}

/** Text from outside, such as a model's name, must not look like further fields or lines. */
function valueText(value: Fields[string] | undefined): string {
  if (typeof value !== 'string') return String(value);
  return /^[\w.:/@+;,=-]+$/.test(value) ? value : JSON.stringify(visible(value));
}

/** Two files of this size are kept. */
const MAX_FILE_BYTES = 5 * 1024 * 1024;

export const logFile = (directory: string) => join(directory, 'inglenook.log');
export const rotatedLogFile = (directory: string) => `${logFile(directory)}.1`;

/** Appends to `inglenook.log` in `directory`. When the disk fails, lines are lost without an error. */
export function fileSink(directory: string): LogOptions['write'] {
  const path = logFile(directory);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  let bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let stream = open(path);
  const write = (lines: string) => {
    bytes += lines.length;
    if (bytes > MAX_FILE_BYTES) {
      stream.end();
      rotate(directory);
      stream = open(path);
      bytes = lines.length;
    }
    // An error has ended it; the disk may have space again.
    if (stream.destroyed) stream = open(path);
    stream.write(lines);
  };
  return inBatches(write, (lines) => appendFileSync(path, lines, { mode: 0o600 }));
}

/** With more than this unread, lines are lost: a slow reader of the log must not fill the gateway's memory. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Writes to a stream of the process; once its reader has gone, lines are lost without an error. */
export function streamSink(stream: Writable): LogOptions['write'] {
  return inBatches((lines) => {
    if (stream.writable && stream.writableLength < MAX_UNREAD_BYTES) stream.write(lines);
  });
}

/** A write for each line would cost a busy gateway a tenth of its time. */
const BATCH_INTERVAL_MS = 100;
const MAX_BATCH_LENGTH = 64 * 1024;

/** Passes lines on ten times a second, many at once if need be, and what is left when the process exits. */
function inBatches(write: LogOptions['write'], writeAtExit = write): LogOptions['write'] {
  let batch = '';
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    process.off('exit', flushAtExit);
    const lines = batch;
    batch = '';
    if (lines !== '') write(lines);
  };
  const flushAtExit = () => {
    try {
      writeAtExit(batch);
    } catch {
      // A disk that fails loses lines.
    }
  };
  return (line) => {
    if (batch === '') {
      timer = setTimeout(flush, BATCH_INTERVAL_MS).unref();
      process.once('exit', flushAtExit);
    }
    batch += line;
    if (batch.length > MAX_BATCH_LENGTH) flush();
  };
}

function open(path: string): WriteStream {
  const stream = createWriteStream(path, { flags: 'a', mode: 0o600 });
  stream.on('error', () => {});
  return stream;
}

function rotate(directory: string): void {
  try {
    renameSync(logFile(directory), rotatedLogFile(directory));
  } catch {
    // The next rotation tries again; until then the file grows.
  }
}
