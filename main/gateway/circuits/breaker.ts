import { later, type DualTime, remainingMs } from '../../platform/clock.ts';
import { type HealthRecord, UNUSED } from './health.ts';

/** `consecutiveOpens` is 1 plus the number of doublings since the breaker last closed. */
export interface Cooldown {
  readonly until: DualTime;
  readonly consecutiveOpens: number;
}

/** Only `closed` and `probing` have admitted requests, so only they have a serial. */
export type BreakerState =
  | { readonly kind: 'closed'; readonly serial: number }
  /** Admits no request until the cool-down is over, then one as the probe. */
  | ({ readonly kind: 'open' } & Cooldown)
  /** The probe is running: admits no other request until its result is recorded or `release` has passed. */
  | ({
      readonly kind: 'probing';
      readonly serial: number;
      readonly release: DualTime;
      /** Admitted before the cool-down was over, because no other upstream was left. */
      readonly isForced: boolean;
    } & Cooldown);

/** A circuit breaker (docs/routing.md#circuits) as a value. It knows neither ids nor HTTP. */
export interface Breaker {
  readonly health: HealthRecord;
  readonly state: BreakerState;
  /** The last serial that was used. */
  readonly lastSerial: number;
}

/**
 * Issued with an admission and returned with its result. Each probe and each closed period has its own
 * serial, so that a late result of an earlier one is recognised.
 */
export interface Permit {
  readonly serial: number;
}

export type AdmitDecision =
  | { readonly kind: 'admitted'; readonly permit: Permit; readonly breaker: Breaker }
  /** A request is admitted in `waitMs` (never 0) at the latest. */
  | { readonly kind: 'refused'; readonly waitMs: number };

export const NEW_BREAKER: Breaker = {
  health: UNUSED,
  state: { kind: 'closed', serial: 0 },
  lastSerial: 0,
};

/** After a cool-down the first request admitted is the probe. */
export function admit(breaker: Breaker, now: DualTime, probeTimeoutMs: number): AdmitDecision {
  const waitMs = waitMsOf(breaker, now);
  return waitMs > 0 ? { kind: 'refused', waitMs } : admitNow(breaker, now, probeTimeoutMs);
}

/**
 * Admits a request during the cool-down, as a probe whose failure does not lengthen it: for the upstream that
 * comes back soonest when all are excluded. Refuses only while a probe is running.
 */
export function admitForced(
  breaker: Breaker,
  now: DualTime,
  probeTimeoutMs: number,
): AdmitDecision {
  const { state } = breaker;
  const probeMs = state.kind === 'probing' ? remainingMs(state.release, now) : 0;
  return probeMs > 0
    ? { kind: 'refused', waitMs: waitMsOf(breaker, now) }
    : admitNow(breaker, now, probeTimeoutMs);
}

/** Admits a request only while closed: a hedged call, which need not be sent, is never the probe. */
export function admitIfClosed(
  breaker: Breaker,
  now: DualTime,
  probeTimeoutMs: number,
): AdmitDecision {
  return breaker.state.kind === 'closed'
    ? admitNow(breaker, now, probeTimeoutMs)
    : { kind: 'refused', waitMs: waitMsOf(breaker, now) };
}

/** Milliseconds until a request is admitted at the latest; 0: at once. */
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

/** The probe's own time-out must be recorded first: its timer starts a little after its admission. */
const RELEASE_GRACE_MS = 1000;

function admitNow(breaker: Breaker, now: DualTime, probeTimeoutMs: number): AdmitDecision {
  const { state } = breaker;
  if (state.kind === 'closed') {
    return { kind: 'admitted', permit: { serial: state.serial }, breaker };
  }
  const { until, consecutiveOpens } = state;
  const serial = breaker.lastSerial + 1;
  const isForced = remainingMs(until, now) > 0;
  const probing: BreakerState = {
    kind: 'probing',
    // A cool-down that is over stays over, even if the clock is set back while the probe is running.
    until: isForced ? until : now,
    consecutiveOpens,
    serial,
    release: later(now, probeTimeoutMs + RELEASE_GRACE_MS),
    isForced,
  };
  return {
    kind: 'admitted',
    permit: { serial },
    breaker: { ...breaker, state: probing, lastSerial: serial },
  };
}

/** Ends a cool-down early, after a passed health check: the next request is the probe. */
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
 * Closes the breaker and clears the consecutive counts, the growth of the cool-down and the probe; lifetime
 * counts stay. Running requests no longer affect its state: they may have used a former address or key.
 */
export function reset(breaker: Breaker): Breaker {
  const serial = breaker.lastSerial + 1;
  return {
    health: { ...breaker.health, consecutiveFails: 0, consecutiveSlow: 0 },
    state: { kind: 'closed', serial },
    lastSerial: serial,
  };
}
