import { rmSync } from 'node:fs';
import { readTextFile, replaceFile } from '../../platform/files.ts';
import type { StoreChange } from './store.ts';

/** Of the note beside the database. */
export const COUNT_SUFFIX = '.machines';

/**
 * Notes beside the database how many machines it holds at least. A file that was emptied, or whose log is gone, is a
 * valid database of fewer machines: only the note distinguishes it from one that they were removed from.
 */
export interface EnrolledCount {
  /** Runs `write`, which commits `changes` or throws. */
  around(changes: Iterable<StoreChange>, write: () => void): void;
}

/** `ids` are those of the machines in the database. */
export function createEnrolledCount(databasePath: string, ids: Iterable<string>): EnrolledCount {
  const path = databasePath + COUNT_SUFFIX;
  const held = new Set(ids);
  let noted = notedCount(databasePath);

  function note(count: number): void {
    if (count === noted) return;
    try {
      replaceFile(path, `${count}\n`);
      noted = count;
    } catch {
      withdraw();
    }
  }

  /** On a full disk a file can still be removed, and without a note nothing is missed. */
  function withdraw(): void {
    noted = null;
    try {
      rmSync(path, { force: true });
    } catch {
      // A folder that takes no change takes none of the database either.
    }
  }

  note(held.size);
  return {
    around(changes, write) {
      const isHeld = heldAfter(changes);
      let count = held.size;
      for (const [id, after] of isHeld) count += Number(after) - Number(held.has(id));
      // Lowered before the database and raised after it: wherever a crash falls, the note is not too high.
      if (count < held.size) note(count);
      write();
      for (const [id, after] of isHeld) {
        if (after) held.add(id);
        else held.delete(id);
      }
      note(held.size);
    },
  };
}

function heldAfter(changes: Iterable<StoreChange>): ReadonlyMap<string, boolean> {
  const isHeld = new Map<string, boolean>();
  for (const change of changes) {
    if (change.kind === 'provider') isHeld.set(change.provider.id, true);
    else if (change.kind === 'provider_removed') isHeld.set(change.id, false);
  }
  return isHeld;
}

/** Null where nothing is noted. */
export function notedCount(databasePath: string): number | null {
  try {
    const text = readTextFile(databasePath + COUNT_SUFFIX)?.trim() ?? '';
    return /^\d{1,9}$/.test(text) ? Number(text) : null;
  } catch {
    return null;
  }
}
