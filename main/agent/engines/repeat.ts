import { type Clock, sleep } from '../../platform/clock.ts';

/** Between which pauses a round is repeated. */
export interface Pace {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Something that is done again and again. */
export interface RepeatedTask {
  start(): void;
  /** The next round is due now, and the pauses are short again. */
  hurry(): void;
  stop(): void;
}

/** Rounds never begin closer to each other than this, however often they are hurried. */
const MIN_GAP_MS = 1000;

/**
 * Repeats `round`, never twice at a time. After a round that found something new the pause is short;
 * it doubles as long as nothing changes.
 */
export function createRepeatedTask(
  round: (signal: AbortSignal) => Promise<boolean>,
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
      const hasChanged = await round(stopping.signal);
      pauseMs = hasChanged ? minMs : pauseMs;
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
    hurry: () => waking.abort(),
    stop: () => stopping.abort(),
  };
}
