import type { Clock } from '../../platform/clock.ts';
import { createDeadlines } from './deadlines.ts';

/** A deadline queue for many providers with one timer. */
export interface TimerQueue {
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
