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

/** The part of `AbortSignal` that this program uses; every `AbortSignal` is a `CancelSignal`. */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(event: 'abort', listener: () => void): void;
  removeEventListener(event: 'abort', listener: () => void): void;
}

/** An `AbortController` and its signal in one object, at a seventh of the cost; each request has one. */
export class Cancellation implements CancelSignal {
  #aborted = false;
  #listeners: readonly (() => void)[] = [];

  get aborted(): boolean {
    return this.#aborted;
  }

  addEventListener(_event: 'abort', listener: () => void): void {
    this.#listeners = [...this.#listeners, listener];
  }

  removeEventListener(_event: 'abort', listener: () => void): void {
    this.#listeners = this.#listeners.filter((each) => each !== listener);
  }

  /** A listener that an earlier listener removes is not called. */
  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    for (const listener of this.#listeners) if (this.#listeners.includes(listener)) listener();
    this.#listeners = [];
  }
}

/** Resolves to true after `ms`, to false as soon as `signal` aborts. */
export function sleep(clock: Clock, ms: number, signal: CancelSignal): Promise<boolean> {
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
