import TinyQueue from 'tinyqueue';
import type { Clock } from '../../platform/clock.ts';

/** A deadline queue for many providers with one timer. */
interface TimerQueue {
  /** Starts the timer. */
  open(): void;
  close(): void;
  /** Sets the deadline in ticks; `first` goes ahead of all others. */
  set(id: string, ticks: number | 'first'): void;
  remove(id: string): void;
  /**
   * Removes and returns the next id that is due. If there is none, returns null and sets the timer for the next one.
   */
  next(): string | null;
}

/** `ring` is called when a deadline may have passed. */
export function createTimerQueue(clock: Clock, ring: () => void): TimerQueue {
  const later = createDeadlines();
  /** Due ids, in the order of their deadlines. */
  const ready = new Set<string>();
  const first = new Set<string>();
  let isOpen = false;
  let alarm: { readonly ticks: number; readonly cancel: () => void } | null = null;

  function ringAt(ticks: number): void {
    if (!isOpen || (alarm !== null && alarm.ticks <= ticks)) return;
    alarm?.cancel();
    const cancel = clock.after(Math.max(0, ticks - clock.ticks()), () => {
      alarm = null;
      ring();
    });
    alarm = { ticks, cancel };
  }

  function gather(): void {
    const nowTicks = clock.ticks();
    for (let id = later.takeDue(nowTicks); id !== null; id = later.takeDue(nowTicks)) ready.add(id);
    const nextTicks = later.earliestTicks();
    if (nextTicks !== Infinity) ringAt(nextTicks);
  }

  return {
    open() {
      isOpen = true;
      if (later.earliestTicks() !== Infinity || first.size > 0) ringAt(-Infinity);
    },
    close() {
      isOpen = false;
      alarm?.cancel();
      alarm = null;
    },
    set(id, ticks) {
      if (ticks === 'first') {
        first.add(id);
        ringAt(-Infinity);
        return;
      }
      // An id that is already due keeps its place.
      if (ready.has(id) && ticks <= clock.ticks()) return;
      ready.delete(id);
      later.set(id, ticks);
      ringAt(ticks);
    },
    remove(id) {
      later.delete(id);
      ready.delete(id);
      first.delete(id);
    },
    next() {
      if (!isOpen) return null;
      if (first.size === 0 && ready.size === 0) gather();
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

/**
 * When each of many ids is due, with quick access to the earliest; equal deadlines keep the order in which they were
 * set.
 */
interface Deadlines {
  /** Replaces the id's last deadline. */
  set(id: string, ticks: number): void;
  delete(id: string): void;
  /** Infinity if there is none. */
  earliestTicks(): number;
  /** Removes and returns the earliest that is at or before `nowTicks`; null if there is none. */
  takeDue(nowTicks: number): string | null;
}

interface Entry {
  readonly id: string;
  readonly ticks: number;
  /** Breaks ties: the deadline that was set first comes first. */
  readonly turn: number;
}

const byTicks = (a: Entry, b: Entry) => (a.ticks === b.ticks ? a.turn - b.turn : a.ticks - b.ticks);
/** Outdated entries stay in the queue until they are the earliest, or outnumber the current ones by more than this. */
const MAX_OUTDATED = 64;

export function createDeadlines(): Deadlines {
  const current = new Map<string, Entry>();
  let queue = new TinyQueue<Entry>([], byTicks);
  let lastTurn = 0;

  function earliest(): Entry | undefined {
    for (let entry = queue.peek(); entry !== undefined; entry = queue.peek()) {
      if (current.get(entry.id) === entry) return entry;
      queue.pop();
    }
    return undefined;
  }

  return {
    set(id, ticks) {
      const entry = { id, ticks, turn: (lastTurn += 1) };
      current.set(id, entry);
      queue.push(entry);
      if (queue.length <= 2 * current.size + MAX_OUTDATED) return;
      queue = new TinyQueue([...current.values()], byTicks);
    },
    delete: (id) => void current.delete(id),
    earliestTicks: () => earliest()?.ticks ?? Infinity,
    takeDue(nowTicks) {
      const entry = earliest();
      if (entry === undefined || entry.ticks > nowTicks) return null;
      queue.pop();
      current.delete(entry.id);
      return entry.id;
    },
  };
}
