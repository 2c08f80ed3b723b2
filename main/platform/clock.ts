/** Passed as an argument instead of a global clock, so that tests control time. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch, for timestamps. */
  now(): number;
  /** Monotonic milliseconds, for durations. */
  ticks(): number;
  /** Calls `fn` once after `ms`; the returned function cancels it. */
  after(ms: number, fn: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  ticks: () => performance.now(),
  after: (ms, fn) => {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves to true after `ms`, to false as soon as `signal` aborts. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const settle = (slept: boolean) => {
      cancel();
      signal.removeEventListener('abort', onAbort);
      resolve(slept);
    };
    const onAbort = () => settle(false);
    const wake = () => settle(true);
    const cancel = clock.after(ms, wake);
    signal.addEventListener('abort', onAbort);
  });
}
