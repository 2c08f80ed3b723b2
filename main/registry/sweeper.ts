import { type RegistryContext, statusEvents, write } from './context.ts';
import type { TableEntry } from './provider-table.ts';
import { FORGOTTEN_MS } from './staleness.ts';
import type { StoreChange } from './store/store.ts';

/** How soon silence shows in the history and the window; routing checks silence itself. */
const SWEEP_MS = 1000;

/** Notes silence, and removes machines that were silent for too long. Nothing runs before `start`. */
export function createSweeper(parts: RegistryContext) {
  const { table, clock, log, verifier } = parts;
  let cancelTimer: (() => void) | null = null;
  let isRunning = false;

  function forget(id: string): StoreChange {
    table.remove(id);
    verifier.removed(id);
    log('info', 'provider_forgotten', { id });
    return { kind: 'provider_removed', id };
  }

  /** Asks both clocks: the wall clock may have been far ahead before a restart, so that the report is older than it says. */
  function isTooLongSilent(entry: TableEntry): boolean {
    const { lastHeartbeatAt, enrolledAt } = entry.stored;
    const byWallMs = clock.now() - (lastHeartbeatAt ?? enrolledAt);
    return Math.min(table.silentMs(entry), byWallMs) >= FORGOTTEN_MS;
  }

  function sweep(): void {
    const changes: StoreChange[] = [];
    for (const entry of table.all()) {
      if (isTooLongSilent(entry) && !entry.isOwn) {
        changes.push(forget(entry.id));
        continue;
      }
      const events = statusEvents(entry, parts);
      if (events.length > 0) table.touch(entry);
      changes.push(...events);
    }
    if (changes.length > 0) void write(changes, parts);
  }

  function wake(): void {
    if (!isRunning || cancelTimer !== null || table.isEmpty()) return;
    cancelTimer = clock.after(SWEEP_MS, () => {
      cancelTimer = null;
      sweep();
      wake();
    });
  }

  return {
    start(): void {
      // The current status was noted before the restart, or will be when it changes.
      for (const entry of table.all()) entry.notedStatus ??= table.status(entry);
      isRunning = true;
      wake();
    },
    /** A provider was added; without any there is nothing to watch. */
    wake,
    stop(): void {
      isRunning = false;
      cancelTimer?.();
    },
  };
}
