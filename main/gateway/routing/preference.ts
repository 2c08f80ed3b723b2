import type { HostedId } from '#shared/ids.ts';
import {
  type Clock,
  type DualTime,
  dualTimeOf,
  endsAtMs,
  later,
  remainingMs,
} from '../../platform/clock.ts';
import { isoTime } from '../../platform/dates.ts';

export interface Preferred {
  readonly id: HostedId;
  /** Milliseconds since the epoch. */
  readonly untilMs: number;
}

const LASTS_MS = 60 * 60 * 1000;

/**
 * The hosted upstream that requests try before the others for an hour, because its owner said so. It is kept in memory
 * only: whatever ends it, a restart too, leads back to the order in which upstreams that are paid come last.
 */
export type Preference = ReturnType<typeof createPreference>;

/** `changed` is called after each change, also when the hour is over. */
export function createPreference(clock: Clock, changed: () => void) {
  let preferred: { readonly id: HostedId; readonly until: DualTime } | null = null;
  let cancelTimer = () => {};

  function set(next: typeof preferred): void {
    cancelTimer();
    preferred = next;
    if (next !== null) awaitEnd(next.until);
    changed();
  }

  function awaitEnd(until: DualTime): void {
    const leftMs = remainingMs(until, dualTimeOf(clock));
    // It may ring a little early.
    cancelTimer = clock.after(Math.ceil(leftMs), () =>
      inForce() === null ? set(null) : awaitEnd(until),
    );
  }

  function inForce(): typeof preferred {
    const isOver = preferred !== null && remainingMs(preferred.until, dualTimeOf(clock)) === 0;
    return isOver ? null : preferred;
  }

  return {
    id: (): HostedId | null => inForce()?.id ?? null,
    view(): Preferred | null {
      const current = inForce();
      if (current === null) return null;
      return { id: current.id, untilMs: endsAtMs(current.until, dualTimeOf(clock)) };
    },
    /** For an hour from now, in place of another one. */
    begin: (id: HostedId) => set({ id, until: later(dualTimeOf(clock), LASTS_MS) }),
    end: () => set(null),
    /** Two upstreams have changed places: the same service stays preferred. */
    swapped(a: HostedId, b: HostedId): void {
      const current = inForce();
      if (current?.id === a) set({ ...current, id: b });
      else if (current?.id === b) set({ ...current, id: a });
    },
    stop: () => cancelTimer(),
  };
}

/** As the status report and its route show it. */
export function preferredReport(preferred: Preferred) {
  return { id: preferred.id, until: isoTime(preferred.untilMs) };
}
