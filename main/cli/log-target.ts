import { fstatSync, type Stats, statSync } from 'node:fs';
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
  /** The same of process 1; null where it is a terminal or another device, or cannot be seen. */
  readonly firstStderr: string | null;
}

/**
 * `JOURNAL_STREAM` is inherited by every program of a desktop session, so it counts only if it names our own
 * standard error (systemd.exec(5)). The log of a container is what its process 1 writes, which may be this program, or
 * an init or a script that has started it. `container` is set by podman and systemd-nspawn.
 */
export function surroundingsOf({ env, pid, stderr, firstStderr }: ProcessFacts): Surroundings {
  if (env['JOURNAL_STREAM'] === stderr) return 'journal';
  const isOfContainer = pid === 1 || Boolean(env['container']) || stderr === firstStderr;
  return isOfContainer ? 'container' : 'other';
}

export function processSurroundings(env: NodeJS.ProcessEnv): Surroundings {
  const stderr = identity(fstatSync(process.stderr.fd));
  return surroundingsOf({ env, pid: process.pid, stderr, firstStderr: stderrOfFirst() });
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

export function openLog(
  { to, format }: LogTarget,
  level: Config['gateway']['logLevel'],
  dataDirectory: string,
): Log {
  const write = to === 'file' ? fileSink(logDirectory(dataDirectory)) : streamSink(process[to]);
  return createLog({ level, format, write });
}
