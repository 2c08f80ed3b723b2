import type { Clock } from '../../main/platform/clock.ts';

export type ManualClock = ReturnType<typeof createManualClock>;

interface Timer {
  readonly at: number;
  readonly ms: number;
  readonly fn: () => void;
}

/** A clock that stands still until a test moves it; starts at 2026-01-01T00:00:00Z. */
export function createManualClock() {
  const epoch = Date.UTC(2026, 0, 1);
  let ticks = 0;
  const timers = new Set<Timer>();
  const watchers = new Set<(timer: Timer) => void>();
  /** Of those at the same time, the one that was set first. */
  const next = () => {
    let first: Timer | null = null;
    for (const timer of timers) if (first === null || timer.at < first.at) first = timer;
    return first;
  };
  const clock: Clock = {
    now: () => epoch + ticks,
    ticks: () => ticks,
    after(ms, fn) {
      const timer = { at: ticks + Math.max(0, ms), ms, fn };
      timers.add(timer);
      for (const watch of watchers) watch(timer);
      return () => timers.delete(timer);
    },
  };
  return {
    ...clock,
    /** Moves time on, firing what falls due on the way, in order. */
    advance(ms: number): void {
      const end = ticks + ms;
      for (;;) {
        const due = next();
        if (due === null || due.at > end) break;
        timers.delete(due);
        ticks = due.at;
        due.fn();
      }
      ticks = end;
    },
    /** How many timers wait; with `ms`, of this length. */
    pending: (ms?: number) =>
      ms === undefined ? timers.size : [...timers].filter((timer) => timer.ms === ms).length,
    /**
     * Resolves with the length of a timer of `minMs` to `maxMs`, as soon as one waits. `calls` is the name of the
     * function that it calls, where length alone does not tell.
     */
    timer: (minMs: number, maxMs: number, calls?: string) =>
      new Promise<number>((resolve) => {
        const watch = (timer: Timer) => {
          if (timer.ms < minMs || timer.ms > maxMs) return;
          if (calls !== undefined && timer.fn.name !== calls) return;
          watchers.delete(watch);
          resolve(timer.ms);
        };
        watchers.add(watch);
        for (const timer of timers) watch(timer);
      }),
  };
}
