import { existsSync, readFileSync, renameSync } from 'node:fs';
import type { Clock } from './clock.ts';
import { messageOf, nameOf } from './errors.ts';
import { asideName, replaceFileAsync } from './files.ts';
import type { Log } from './log.ts';

/** A JSON document that outlives restarts. */
export interface StateFile {
  /** Null if there is no readable document. */
  load(): unknown;
  /** Schedules a write of the document, which is on disk within a second. */
  changed(): void;
  /** Writes a scheduled change now. */
  flush(): Promise<void>;
}

const WRITE_DELAY_MS = 500;

/** Writes the result of `save` to the file at `path` atomically. A failing disk is logged and otherwise ignored. */
export function createStateFile(
  path: string,
  save: () => unknown,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): StateFile {
  let cancelTimer: (() => void) | null = null;
  let writing = Promise.resolve();

  async function write(): Promise<void> {
    try {
      await replaceFileAsync(path, JSON.stringify(save()));
    } catch (error) {
      log('warn', 'state_unwritten', { error: messageOf(error) });
    }
  }

  /** Renames an unreadable file, so that it can be examined. */
  function setAside(error: unknown): void {
    const aside = asideName(path, clock.now());
    log('warn', 'state_set_aside', {
      aside,
      error: nameOf(error),
    });
    try {
      renameSync(path, aside);
    } catch {
      // It stays in place, and the next write replaces it.
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
      cancelTimer ??= clock.after(WRITE_DELAY_MS, () => void writeNext());
    },
    flush: () => (cancelTimer === null ? writing : writeNext()),
  };
}
