import { fstatSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { createLog, fileSink, type Log, type LogFormat, streamSink } from '../platform/log.ts';

export interface LogTarget {
  readonly to: 'file' | 'stdout' | 'stderr';
  readonly format: LogFormat;
}

/** What reads the standard error of this process. */
export type StderrReader = 'journal' | 'container' | 'other';

type Chosen = Pick<Config['gateway'], 'logTo' | 'logFormat'>;

/**
 * Resolves `auto`: standard error if something stores it, otherwise the file; plain text for people, JSON in the file.
 */
export function logTarget({ logTo, logFormat }: Chosen, stderrReader: StderrReader): LogTarget {
  const kept = stderrReader === 'other' ? 'file' : 'stderr';
  const to = logTo === 'auto' ? kept : logTo;
  if (logFormat !== 'auto') return { to, format: logFormat };
  if (to === 'file') return { to, format: 'json' };
  return { to, format: stderrReader === 'journal' && to === 'stderr' ? 'journal' : 'text' };
}

interface ProcessFacts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** Device and inode of standard error, as in `JOURNAL_STREAM`. */
  readonly stderr: string;
  /** The same for process 1; null if it is a terminal or another device, or cannot be read. */
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

export function openLog(
  { to, format }: LogTarget,
  level: Config['gateway']['logLevel'],
  dataDirectory: string,
): Log {
  const write = to === 'file' ? fileSink(logDirectory(dataDirectory)) : streamSink(process[to]);
  return createLog({ level, format, write });
}
