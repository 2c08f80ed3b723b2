import { type FileHandle, open, readFile, stat } from 'node:fs/promises';
import { watch } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { isObject } from '#shared/objects.ts';
import { parseJson } from '../platform/json.ts';
import { logFile, type LogRecord, logText } from '../platform/log.ts';
import type { Input } from './command.ts';
import { logDirectory } from './log-target.ts';
import { EXIT, failed, type CommandOutcome } from './outcome.ts';
import { findRunning } from './running-app.ts';
import { print, printError } from './terminal.ts';

const DEFAULT_LINES = '50';

/** Prints the end of the log file, and with `--follow` new lines until a signal stops it. */
export async function logs({ dataDirectory, options }: Input): Promise<CommandOutcome> {
  const count = String(options['lines'] ?? DEFAULT_LINES);
  if (!/^\d{1,6}$/.test(count)) {
    return failed(`"--lines" must be a whole number, but is "${count}".`, EXIT.usage);
  }
  const directory = logDirectory(dataDirectory);
  const path = logFile(directory);
  const show = (line: string) => print(options['json'] === true ? line : textOf(line));
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) {
    return failed(
      `There is no log file ${path}. A service or a container logs elsewhere: ${ELSEWHERE}.`,
    );
  }
  if (await isOld(path, dataDirectory)) {
    printError(`The running gateway does not write ${path}: ${ELSEWHERE}. Older lines:`);
  }
  const end = text.lastIndexOf('\n') + 1;
  const lines = text.slice(0, end).split('\n').slice(0, -1);
  for (const line of lines.slice(Math.max(0, lines.length - Number(count)))) show(line);
  if (options['follow'] === true)
    await follow(directory, Buffer.byteLength(text.slice(0, end)), show);
  return { kind: 'printed', exitCode: EXIT.done };
}

const ELSEWHERE = `see "journalctl --user -u switchyard", or the container's own log`;

/** True if the running gateway has not written to the file since it started. */
async function isOld(path: string, dataDirectory: string): Promise<boolean> {
  const running = await findRunning(dataDirectory);
  const startedAt = Date.parse(running?.startedAt ?? '');
  return (await stat(path)).mtimeMs < startedAt;
}

/** Formats a JSON line for people; other lines are text already. */
function textOf(line: string): string {
  const value = parseJson(line);
  return isRecord(value) ? logText(value) : line;
}

function isRecord(value: unknown): value is LogRecord {
  return (
    isObject(value) && ['time', 'level', 'event'].every((key) => typeof value[key] === 'string')
  );
}

/** Never settles. Follows the name, like `tail -F`: a rotated file is read from its beginning. */
async function follow(
  directory: string,
  fromByte: number,
  onLine: (line: string) => void,
): Promise<void> {
  const path = logFile(directory);
  let file = await open(path);
  let position = fromByte;
  let lines = createLineReader(onLine);
  const readOn = async () => {
    position = await readToEnd(file, position, lines);
    if (await isSameFile(file, path)) return;
    position = await readToEnd(file, position, lines);
    await file.close();
    file = await open(path);
    lines = createLineReader(onLine);
    position = await readToEnd(file, 0, lines);
  };
  let reading = Promise.resolve();
  const look = () => {
    // Between the two steps of a rotation there is no file; the next event finds it.
    reading = reading.then(readOn).catch(() => {});
  };
  watch(directory, look);
  look();
  await new Promise(() => {});
}

async function isSameFile(file: FileHandle, path: string): Promise<boolean> {
  const [opened, named] = await Promise.all([file.stat(), stat(path)]);
  return opened.ino === named.ino && opened.dev === named.dev;
}

const PIECE_BYTES = 64 * 1024;

async function readToEnd(
  file: FileHandle,
  from: number,
  onPiece: (piece: Buffer) => void,
): Promise<number> {
  const buffer = Buffer.alloc(PIECE_BYTES);
  let position = from;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, PIECE_BYTES, position);
    if (bytesRead === 0) return position;
    position += bytesRead;
    onPiece(buffer.subarray(0, bytesRead));
  }
}

function createLineReader(onLine: (line: string) => void): (piece: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return (piece) => {
    const parts = (rest + decoder.write(piece)).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) onLine(line);
  };
}
