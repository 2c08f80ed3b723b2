import { rmSync } from 'node:fs';
import { readTextFile, replaceFile } from '../../platform/files.ts';
import type { StoreChange } from './store.ts';

/** Suffix of the note beside the database. */
export const COUNT_SUFFIX = '.machines';

/** `ids` are the machines in the database. */
export function createEnrolledCount(databasePath: string, ids: Iterable<string>) {
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

  /** A file can be removed even on a full disk, and without a note no machine counts as missing. */
  function withdraw(): void {
    noted = null;
    try {
      rmSync(path, { force: true });
    } catch {
      // If the directory cannot be changed, neither can the database.
    }
  }

  note(held.size);
  return {
    /** Runs `write`, which commits `changes` or throws, and updates the count. */
    around(changes: Iterable<StoreChange>, write: () => void): void {
      const isHeld = heldAfter(changes);
      let count = held.size;
      for (const [id, after] of isHeld) count += Number(after) - Number(held.has(id));
      // Lowered before the write and raised after it, so that after a crash the note is never too high.
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

/** The saved number of machines; null if there is none. */
export function notedCount(databasePath: string): number | null {
  try {
    const text = readTextFile(databasePath + COUNT_SUFFIX)?.trim() ?? '';
    return /^\d{1,9}$/.test(text) ? Number(text) : null;
  } catch {
    return null;
  }
}
