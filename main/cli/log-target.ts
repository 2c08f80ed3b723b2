import { fstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { createLog, fileSink, type Log, type LogFormat, streamSink } from '../platform/log.ts';

export interface LogTarget {
  readonly to: 'file' | 'stdout' | 'stderr';
  readonly format: LogFormat;
}

/** The reader of standard error. */
export type Surroundings = 'journal' | 'container' | 'other';

type Chosen = Pick<Config['gateway'], 'logTo' | 'logFormat'>;

/** Settles `auto`: standard error where something keeps it, otherwise the file; text for people, JSON in the file. */
export function logTarget({ logTo, logFormat }: Chosen, surroundings: Surroundings): LogTarget {
  const kept = surroundings === 'other' ? 'file' : 'stderr';
  const to = logTo === 'auto' ? kept : logTo;
  if (logFormat !== 'auto') return { to, format: logFormat };
  if (to === 'file') return { to, format: 'json' };
  return { to, format: surroundings === 'journal' && to === 'stderr' ? 'journal' : 'text' };
}

interface ProcessFacts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** Device and inode of standard error, as in `JOURNAL_STREAM`. */
  readonly stderr: string;
}

/**
 * `JOURNAL_STREAM` is inherited by every program of a desktop session, so it counts only if it names our own
 * standard error (systemd.exec(5)). Process 1 is the main program of a container, and `container` is set by podman
 * and systemd-nspawn.
 */
export function surroundingsOf({ env, pid, stderr }: ProcessFacts): Surroundings {
  if (env['JOURNAL_STREAM'] === stderr) return 'journal';
  return pid === 1 || Boolean(env['container']) ? 'container' : 'other';
}

export function processSurroundings(env: NodeJS.ProcessEnv): Surroundings {
  const { dev, ino } = fstatSync(process.stderr.fd);
  return surroundingsOf({ env, pid: process.pid, stderr: `${dev}:${ino}` });
}

export const logDirectory = (dataDirectory: string) => join(dataDirectory, 'logs');

export function openLog(
  { to, format }: LogTarget,
  level: Config['gateway']['logLevel'],
  dataDirectory: string,
): Log {
  const write = to === 'file' ? fileSink(logDirectory(dataDirectory)) : streamSink(process[to]);
  return createLog({ level, format, write });
}
