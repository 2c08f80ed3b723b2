import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import type { Clock } from './clock.ts';
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

  function writeNext(): Promise<void> {
    cancelTimer?.();
    cancelTimer = null;
    writing = writing.then(write);
    return writing;
  }

  return {
    load() {
      try {
        return JSON.parse(readFileSync(path, 'utf8')) as unknown;
      } catch {
        // Absent at the first start, else damaged: counters begin anew, nothing else is lost.
        return null;
      }
    },
    changed() {
      cancelTimer ??= clock.after(BEHIND_MS, () => void writeNext());
    },
    flush: () => (cancelTimer === null ? writing : writeNext()),
  };
}
