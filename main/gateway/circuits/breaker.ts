import { later, type DualTime, remainingMs } from './deadline.ts';
import { type HealthRecord, UNUSED } from './health.ts';

/** A cool-down: when it ends, and how often it has been doubled since the breaker last closed, plus one. */
export interface Cooldown {
  readonly until: DualTime;
  readonly consecutiveOpens: number;
}

/** Who is let in. Only `closed` and `probing` have let anybody in, so only they carry a serial. */
export type BreakerState =
  | { readonly kind: 'closed'; readonly serial: number }
  /** Nobody until the cool-down is over, then one request as the probe. */
  | ({ readonly kind: 'open' } & Cooldown)
  /** The probe is out: nobody else, until it is heard of or `release` has passed. */
  | ({
      readonly kind: 'probing';
      readonly serial: number;
      readonly release: DualTime;
      /** Sent before the cool-down was over, because no other upstream was left. */
      readonly forced: boolean;
    } & Cooldown);

/** A circuit breaker (docs/routing.md#circuits): its state and whom it admits. It knows neither ids nor HTTP. */
export interface Breaker {
  readonly health: HealthRecord;
  readonly state: BreakerState;
  /** The last serial that was used. */
  readonly lastSerial: number;
}

/**
 * Handed out with an admission and back with its result. Each probe and each spell of being closed
 * has its own serial, so that a result of an earlier one is told apart.
 */
export interface Permit {
  readonly serial: number;
}

/** Whether a request may go. */
export type Admission =
  | { readonly kind: 'admitted'; readonly permit: Permit; readonly breaker: Breaker }
  /** `waitMs` (never 0) from now a request is let in at the latest. */
  | { readonly kind: 'refused'; readonly waitMs: number };

/** A breaker before its first request. */
export const NEW_BREAKER: Breaker = {
  health: UNUSED,
  state: { kind: 'closed', serial: 0 },
  lastSerial: 0,
};

/** Lets a request in, or refuses it at once; after a cool-down the first one let in is the probe. */
export function admit(breaker: Breaker, now: DualTime, probeTimeoutMs: number): Admission {
  const waitMs = waitMsOf(breaker, now);
  return waitMs > 0 ? { kind: 'refused', waitMs } : admitNow(breaker, now, probeTimeoutMs);
}

/**
 * Lets a request in although the cool-down is not over, as a probe whose failure does not lengthen
 * it: for the upstream that comes back soonest when all are out. Refuses only while a probe is out.
 */
export function admitForced(breaker: Breaker, now: DualTime, probeTimeoutMs: number): Admission {
  const { state } = breaker;
  const probeMs = state.kind === 'probing' ? remainingMs(state.release, now) : 0;
  return probeMs > 0
    ? { kind: 'refused', waitMs: waitMsOf(breaker, now) }
    : admitNow(breaker, now, probeTimeoutMs);
}

/** Lets a request in only where nothing is wrong: one that need not be sent is never the probe. */
export function admitIfClosed(breaker: Breaker, now: DualTime, probeTimeoutMs: number): Admission {
  return breaker.state.kind === 'closed'
    ? admitNow(breaker, now, probeTimeoutMs)
    : { kind: 'refused', waitMs: waitMsOf(breaker, now) };
}

/** Milliseconds until a request is let in at the latest, 0 for at once. */
export function waitMsOf({ state }: Breaker, now: DualTime): number {
  switch (state.kind) {
    case 'closed':
      return 0;
    case 'open':
      return remainingMs(state.until, now);
    case 'probing':
      return Math.max(remainingMs(state.until, now), remainingMs(state.release, now));
  }
}

/** The probe's own time-out must be heard of first: its timer starts a little after its admission. */
const RELEASE_GRACE_MS = 1000;

function admitNow(breaker: Breaker, now: DualTime, probeTimeoutMs: number): Admission {
  const { state } = breaker;
  if (state.kind === 'closed') {
    return { kind: 'admitted', permit: { serial: state.serial }, breaker };
  }
  const { until, consecutiveOpens } = state;
  const serial = breaker.lastSerial + 1;
  const forced = remainingMs(until, now) > 0;
  const probing: BreakerState = {
    kind: 'probing',
    // A cool-down that is over stays over, even where the clock is set back while the probe is out.
    until: forced ? until : now,
    consecutiveOpens,
    serial,
    release: later(now, probeTimeoutMs + RELEASE_GRACE_MS),
    forced,
  };
  return {
    kind: 'admitted',
    permit: { serial },
    breaker: { ...breaker, state: probing, lastSerial: serial },
  };
}

/** Ends a cool-down, for it is said to be well: the next request is the probe. */
export function cooledDown(breaker: Breaker, now: DualTime): Breaker {
  const { state } = breaker;
  if (state.kind !== 'open' || remainingMs(state.until, now) === 0) return breaker;
  return { ...breaker, state: { ...state, until: now } };
}

/** Counts an attempt that is sent. */
export function sent(breaker: Breaker): Breaker {
  const { health } = breaker;
  return { ...breaker, health: { ...health, requests: health.requests + 1 } };
}

/**
 * Closes the breaker and clears the consecutive counts, the growth of the cool-down and the probe;
 * lifetime counts stay. Requests under way no longer count for it: they may have gone to an address
 * or with a key that is no more.
 */
export function reset(breaker: Breaker): Breaker {
  const serial = breaker.lastSerial + 1;
  return {
    health: { ...breaker.health, consecutiveFails: 0, consecutiveSlow: 0 },
    state: { kind: 'closed', serial },
    lastSerial: serial,
  };
}
