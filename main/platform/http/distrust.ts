import type { Clock } from '../clock.ts';

/** Longer than what such a server still has on its way. */
const DISTRUST_MS = 600_000;
/** Origins come from settings and from machines. */
const MAX_ORIGINS = 1000;

/** Origins that have sent bytes nobody asked for: on a kept connection such bytes would answer the next request. */
export type Distrust = ReturnType<typeof createDistrust>;

/** `onMarked` is called for an origin that was not marked before. */
export function createDistrust(clock: Clock, onMarked: (origin: string) => void) {
  const untilTicks = new Map<string, number>();
  function has(origin: string): boolean {
    const until = untilTicks.get(origin);
    return until !== undefined && clock.ticks() < until;
  }
  return {
    /** Whether no connection to it may be kept now. */
    has,
    mark(origin: string) {
      const isNew = !has(origin);
      // The map is in the order in which they were marked last.
      untilTicks.delete(origin);
      untilTicks.set(origin, clock.ticks() + DISTRUST_MS);
      const [oldest] = untilTicks.keys();
      if (untilTicks.size > MAX_ORIGINS && oldest !== undefined) untilTicks.delete(oldest);
      if (isNew) onMarked(origin);
    },
  };
}
