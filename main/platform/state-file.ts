import { existsSync, readFileSync, renameSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import type { Clock } from './clock.ts';
import { isoTime } from './dates.ts';
import type { Log } from './log.ts';

/** One JSON document that is kept over restarts. */
export interface StateFile {
  /** What was kept; null when there is nothing that can be read. */
  load(): unknown;
  /** The document has changed: it is on disk within a second, off the request path. */
  changed(): void;
  /** Writes what is still unwritten. */
  flush(): Promise<void>;
}

const BEHIND_MS = 500;

/** Keeps what `save` gives in the file at `path`, atomically; a disk that fails is logged, no more. */
export function createStateFile(
  path: string,
  save: () => unknown,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): StateFile {
  const draft = `${path}.new`;
  let cancelTimer: (() => void) | null = null;
  let writing = Promise.resolve();

  async function write(): Promise<void> {
    try {
      await writeFile(draft, JSON.stringify(save()), { mode: 0o600 });
      await rename(draft, path);
    } catch (error) {
      log('warn', 'state_unwritten', { error: error instanceof Error ? error.message : 'unknown' });
    }
  }

  /** Counters begin anew; what cannot be read is kept for whoever wants to look. */
  function setAside(error: unknown): void {
    const aside = `${path}.bad-${isoTime(clock.now()).replaceAll(':', '-')}`;
    log('warn', 'state_set_aside', {
      aside,
      error: error instanceof Error ? error.name : 'unknown',
    });
    try {
      renameSync(path, aside);
    } catch {
      // It stays and is written over, as it would be on a disk that lets nothing be renamed.
    }
  }

  function writeNext(): Promise<void> {
    cancelTimer?.();
    cancelTimer = null;
    writing = writing.then(write);
    return writing;
  }

  return {
    load() {
      if (!existsSync(path)) return null;
      try {
        return JSON.parse(readFileSync(path, 'utf8')) as unknown;
      } catch (error) {
        setAside(error);
        return null;
      }
    },
    changed() {
      cancelTimer ??= clock.after(BEHIND_MS, () => void writeNext());
    },
    flush: () => (cancelTimer === null ? writing : writeNext()),
  };
}
