import type { Clock } from '../../platform/clock.ts';

/** A request that the engine has not begun to answer. */
export interface Waiting {
  /** Aborts when the request is given up. */
  readonly signal: AbortSignal;
  /** The head of the answer has arrived, or the request is over. */
  answered(): void;
}

/** The requests that the engine has not begun to answer. */
export interface UnansweredRequests {
  add(): Waiting;
  giveUp(): void;
}

/** The engine is checked after this time without an answer. */
const QUIET_MS = 5000;

/** `onQuiet` is called for each request that has waited for `QUIET_MS`. */
export function createUnanswered(clock: Clock, onQuiet: () => void): UnansweredRequests {
  const waiting = new Set<AbortController>();
  return {
    add() {
      const controller = new AbortController();
      waiting.add(controller);
      const cancelTimer = clock.after(QUIET_MS, onQuiet);
      return {
        signal: controller.signal,
        answered() {
          waiting.delete(controller);
          cancelTimer();
        },
      };
    },
    giveUp() {
      for (const controller of waiting) controller.abort();
    },
  };
}
