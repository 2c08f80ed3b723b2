import type { Clock } from '../../platform/clock.ts';
import type { Seen } from '../upstream/attempt.ts';

/** Which upstreams and machines take a request for the usage of a stream. */
export interface UsageSupport {
  mayAsk(id: string): boolean;
  /** Learns from what a request with `stream_options` met; true if the same one without it is worth a call. */
  isRefused(id: string, seen: Seen): boolean;
  /** Its address or its engine changed. */
  forget(id: string): void;
}

/** Strict hosts answer so to fields that they do not know. */
const REFUSALS: ReadonlySet<number> = new Set([400, 422]);
/** They name the field, in words (OpenAI's) or as a place (pydantic's). */
const NAMES = ['stream_options', 'include_usage'];
/** How long an upstream that refused without naming the field, and never accepted it, is not asked. */
const SUSPECTED_MS = 600_000;
/** The oldest is dropped. */
const MAX_REMEMBERED = 1000;

export function createUsageSupport(clock: Clock): UsageSupport {
  /** Until when it is not asked, in clock ticks; 0 for one that takes the field. */
  const known = new Map<string, number>();

  function learn(id: string, until: number): void {
    if (known.get(id) === until) return;
    known.set(id, until);
    const [oldest] = known.keys();
    if (known.size > MAX_REMEMBERED && oldest !== undefined) known.delete(oldest);
  }

  return {
    mayAsk(id) {
      const until = known.get(id) ?? 0;
      return until === 0 || until <= clock.ticks();
    },
    isRefused(id, seen) {
      if (seen.kind === 'stream' || seen.kind === 'answer') learn(id, 0);
      if (seen.kind !== 'status' || !REFUSALS.has(seen.status)) return false;
      const isNamed = NAMES.some((name) => seen.body.includes(name));
      if (isNamed) learn(id, Infinity);
      else if (known.get(id) !== 0) learn(id, clock.ticks() + SUSPECTED_MS);
      return isNamed;
    },
    forget: (id) => void known.delete(id),
  };
}
