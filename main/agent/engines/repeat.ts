import { type Clock, sleep } from '../../platform/clock.ts';

export interface Pace {
  readonly minMs: number;
  readonly maxMs: number;
}

/** What a round found: `changed` makes the pauses short again, `urgent` also starts the next round at once. */
export type Round = 'same' | 'changed' | 'urgent';

/** A repeated task whose pause doubles while nothing changes. */
export interface RepeatedTask {
  start(): void;
  /** Starts the next round now and resets the pause. */
  runNow(): void;
  stop(): void;
}

/** Shortest time between the starts of two rounds, however often they are hurried. */
const MIN_GAP_MS = 1000;

/**
 * Repeats `round`, one at a time. After a round in which something changed the pause is short; it doubles while nothing
 * does.
 */
export function createRepeatedTask(
  round: (signal: AbortSignal) => Promise<Round>,
  { minMs, maxMs }: Pace,
  clock: Clock,
): RepeatedTask {
  const stopping = new AbortController();
  let waking = new AbortController();
  let isRunning = false;
  let pauseMs = minMs;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      waking = new AbortController();
      const startedAt = clock.ticks();
      const found = await round(stopping.signal);
      if (found !== 'same') pauseMs = minMs;
      if (found === 'urgent') waking.abort();
      const signal = AbortSignal.any([stopping.signal, waking.signal]);
      const slept = await sleep(clock, pauseMs, signal);
      pauseMs = slept ? Math.min(pauseMs * 2, maxMs) : minMs;
      const gapMs = startedAt + MIN_GAP_MS - clock.ticks();
      if (gapMs > 0) await sleep(clock, gapMs, stopping.signal);
    }
  }

  return {
    start() {
      if (isRunning) return;
      isRunning = true;
      void run();
    },
    runNow: () => waking.abort(),
    stop: () => stopping.abort(),
  };
}
