import type { Clock } from '../../platform/clock.ts';

interface Deadline {
  readonly ticks: number;
  readonly cancel: () => void;
}

/** Deadlines of many providers, in order. `ring` is called when one has passed. */
export function createTimerQueue(clock: Clock, ring: () => void) {
  const later = new Map<string, Deadline>();
  /** Due ids, in the order of their deadlines. */
  const ready = new Set<string>();
  const first = new Set<string>();
  let isOpen = false;
  let cancelRing = () => {};

  function drop(id: string): void {
    later.get(id)?.cancel();
    later.delete(id);
    ready.delete(id);
  }

  function ringSoon(): void {
    cancelRing();
    if (isOpen) cancelRing = clock.after(0, ring);
  }

  function set(id: string, ticks: number): void {
    drop(id);
    const due = () => {
      later.delete(id);
      ready.add(id);
      ring();
    };
    const cancel = isOpen ? clock.after(Math.max(0, ticks - clock.ticks()), due) : () => {};
    later.set(id, { ticks, cancel });
  }

  return {
    /** Starts the timers. */
    open(): void {
      isOpen = true;
      const waiting = new Map(later);
      for (const [id, { ticks }] of waiting) set(id, ticks);
      if (first.size > 0) ringSoon();
    },
    close(): void {
      isOpen = false;
      cancelRing();
      for (const { cancel } of later.values()) cancel();
    },
    /** Sets the deadline in ticks; `first` goes ahead of all others. */
    set(id: string, ticks: number | 'first'): void {
      if (ticks === 'first') {
        first.add(id);
        ringSoon();
        return;
      }
      // An id that is already due keeps its place.
      if (!ready.has(id) || ticks > clock.ticks()) set(id, ticks);
    },
    remove(id: string): void {
      drop(id);
      first.delete(id);
    },
    /** Removes and returns the next id that is due; null if there is none. */
    next(): string | null {
      if (!isOpen) return null;
      for (const turns of [first, ready]) {
        for (const id of turns) {
          first.delete(id);
          ready.delete(id);
          return id;
        }
      }
      return null;
    },
  };
}
