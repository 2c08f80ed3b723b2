import { createReadStream, fstatSync, type Stats, statSync, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseJson } from '../platform/json.ts';
import type { Config } from '../config/schema.ts';
import { logFile, type LogRecord, logText, rotatedLogFile } from '../platform/log.ts';
import { type CommandOutcome, EXIT, failed, type Input } from './command.ts';
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
  const lines: string[] = [];
  const end = await readLines(path, 0, (line) => void lines.push(line)).catch(() => null);
  if (end === null) {
    return failed(
      `There is no log file ${path}. A service or a container logs elsewhere: ${ELSEWHERE}.`,
    );
  }
  if (await isOld(path, dataDirectory)) {
    printError(`The running gateway does not write ${path}: ${ELSEWHERE}. Older lines:`);
  }
  for (const line of lines.slice(Math.max(0, lines.length - Number(count)))) show(line);
  if (options['follow'] === true) await follow(directory, end, show);
  return { kind: 'printed', exitCode: EXIT.done };
}

const ELSEWHERE = `see "journalctl --user -u inglenook", or the container's own log`;

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

/** Never settles. Follows the name, like `tail -F`: after a rotation, the rest of the old file comes first. */
async function follow(
  directory: string,
  fromByte: number,
  onLine: (line: string) => void,
): Promise<void> {
  const path = logFile(directory);
  let { ino } = await stat(path);
  let position = fromByte;
  const readOn = async () => {
    const now = await stat(path);
    if (now.ino !== ino) {
      await readLines(rotatedLogFile(directory), position, onLine);
      [ino, position] = [now.ino, 0];
    }
    position = await readLines(path, position, onLine);
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

/** Reads the whole lines from a byte on; resolves with the byte at which the next line begins. */
async function readLines(
  path: string,
  start: number,
  onLine: (line: string) => void,
): Promise<number> {
  const bytes = Buffer.concat((await createReadStream(path, { start }).toArray()) as Buffer[]);
  const end = bytes.lastIndexOf('\n') + 1;
  for (const line of bytes.toString('utf8', 0, end).split('\n').slice(0, -1)) onLine(line);
  return start + end;
}

/** What reads the standard error of this process. */
export type StderrReader = 'journal' | 'container' | 'other';

type LogSettings = Pick<Config['gateway'], 'logTo' | 'logFormat'>;

/**
 * Resolves `auto`: standard error if something stores it, otherwise the file; plain text for people, JSON in the file.
 */
export function logTarget({ logTo, logFormat }: LogSettings, stderrReader: StderrReader) {
  const kept = stderrReader === 'other' ? 'file' : 'stderr';
  const to = logTo === 'auto' ? kept : logTo;
  if (logFormat !== 'auto') return { to, format: logFormat };
  if (to === 'file') return { to, format: 'json' } as const;
  const isJournal = stderrReader === 'journal' && to === 'stderr';
  return { to, format: isJournal ? 'journal' : 'text' } as const;
}

interface ProcessFacts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** Device and inode of standard error, as in `JOURNAL_STREAM`. */
  readonly stderr: string;
  /** The same of process 1; null if that is a terminal or another device, or cannot be read. */
  readonly firstStderr: string | null;
}

/**
 * `JOURNAL_STREAM` is inherited by every program of a desktop session, so it counts only if it names our own
 * standard error (systemd.exec(5)). The log of a container is what its process 1 writes, which may be this program, or
 * an init or a script that has started it. `container` is set by podman and systemd-nspawn.
 */
export function stderrReaderOf({ env, pid, stderr, firstStderr }: ProcessFacts): StderrReader {
  if (env['JOURNAL_STREAM'] === stderr) return 'journal';
  const isOfContainer = pid === 1 || Boolean(env['container']) || stderr === firstStderr;
  return isOfContainer ? 'container' : 'other';
}

export function detectStderrReader(env: NodeJS.ProcessEnv): StderrReader {
  const stderr = identity(fstatSync(process.stderr.fd));
  return stderrReaderOf({ env, pid: process.pid, stderr, firstStderr: stderrOfFirst() });
}

function stderrOfFirst(): string | null {
  try {
    const first = statSync('/proc/1/fd/2');
    return first.isCharacterDevice() ? null : identity(first);
  } catch {
    return null;
  }
}

const identity = ({ dev, ino }: Stats) => `${dev}:${ino}`;

export const logDirectory = (dataDirectory: string) => join(dataDirectory, 'logs');
