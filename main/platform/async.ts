import { type Clock, sleep } from './clock.ts';

type TimedResult<T> =
  | { readonly kind: 'settled'; readonly value: T }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'aborted' };

interface Limits {
  readonly clock: Clock;
  readonly ms?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Waits for `promise` for at most `ms`, and until `signal` aborts. Only the waiting ends: the caller has to stop
 * the work. Rejects as the promise does, unless a limit was reached first.
 */
export async function withTimeout<T>(
  promise: Promise<T>,
  { clock, ms, signal }: Limits,
): Promise<TimedResult<T>> {
  const { promise: limit, resolve: end } = Promise.withResolvers<TimedResult<T>>();
  const onAbort = () => end({ kind: 'aborted' });
  const cancelTimer = ms === undefined ? null : clock.after(ms, () => end({ kind: 'timed_out' }));
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener('abort', onAbort);
  try {
    return await Promise.race([
      limit,
      promise.then((value) => ({ kind: 'settled', value }) as const),
    ]);
  } finally {
    cancelTimer?.();
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Runs pieces of work one after the other, also after one that failed; each call returns its own work's result. */
export function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work, work);
    last = result;
    return result;
  };
}

interface RoundOptions {
  readonly clock: Clock;
  /** Shortest time between the starts of two rounds, however often they are hurried. */
  readonly minGapMs?: number;
}

/** Repeats `round`, one at a time, which returns the pause after it and hears whether the one before was cut short. */
export function createRounds(
  round: (signal: AbortSignal, isHurried: boolean) => Promise<number>,
  { clock, minGapMs = 0 }: RoundOptions,
) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let waking = new AbortController();
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    for (let isHurried = false; !signal.aborted;) {
      waking = new AbortController();
      const startedTicks = clock.ticks();
      const pauseMs = await round(signal, isHurried);
      isHurried = !(await sleep(clock, pauseMs, AbortSignal.any([signal, waking.signal])));
      const gapMs = startedTicks + minGapMs - clock.ticks();
      if (gapMs > 0) await sleep(clock, gapMs, signal);
    }
  }

  return {
    start: () => void (running ??= run()),
    /** Ends the pause, or that after the round in progress. */
    runNow: () => waking.abort(),
    /** Resolves once no round is in progress. */
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
