import { UNUSED, type HealthRecord } from './health-record.ts';
import { later, remainingMs, type Moment } from './moment.ts';

/** A cool-down: when it ends, and how often it has been doubled since the breaker last closed, plus one. */
export interface Cooldown {
  readonly until: Moment;
  readonly openings: number;
}

/** Who is let in. Only `closed` and `probing` have let anybody in, so only they carry a serial. */
export type Gate =
  | { readonly kind: 'closed'; readonly serial: number }
  /** Nobody until the cool-down is over, then one request as the probe. */
  | ({ readonly kind: 'open' } & Cooldown)
  /** The probe is out: nobody else, until it is heard of or `release` has passed. */
  | ({
      readonly kind: 'probing';
      readonly serial: number;
      readonly release: Moment;
      /** Sent before the cool-down was over, because there was nobody else to ask (design 4). */
      readonly forced: boolean;
    } & Cooldown);

/** A circuit breaker (design 5): what it remembers and whom it lets in, ignorant of ids and of HTTP. */
export interface Breaker {
  readonly health: HealthRecord;
  readonly gate: Gate;
  /** The last serial that was used. */
  readonly issued: number;
}

/**
 * Handed out with an admission and back with its result. Each probe and each spell of being closed
 * has its own serial, so that a result of an earlier one is told apart.
 */
export interface Ticket {
  readonly serial: number;
}

/** Whether a request may go. */
export type Admission =
  | { readonly kind: 'admitted'; readonly ticket: Ticket; readonly breaker: Breaker }
  /** `waitMs` (never 0) from now a request is let in at the latest. */
  | { readonly kind: 'refused'; readonly waitMs: number };

/** A breaker before its first request. */
export const NEW_BREAKER: Breaker = {
  health: UNUSED,
  gate: { kind: 'closed', serial: 0 },
  issued: 0,
};

/** Lets a request in, or refuses it at once; after a cool-down the first one let in is the probe. */
export function admit(breaker: Breaker, now: Moment, probeTimeoutMs: number): Admission {
  const waitMs = waitMsOf(breaker, now);
  return waitMs > 0 ? { kind: 'refused', waitMs } : letIn(breaker, now, probeTimeoutMs);
}

/**
 * Lets a request in although the cool-down is not over, as a probe whose failure does not lengthen
 * it: for the upstream that comes back soonest when all are out. Refuses only while a probe is out.
 */
export function admitAnyway(breaker: Breaker, now: Moment, probeTimeoutMs: number): Admission {
  const { gate } = breaker;
  const probeMs = gate.kind === 'probing' ? remainingMs(gate.release, now) : 0;
  return probeMs > 0
    ? { kind: 'refused', waitMs: waitMsOf(breaker, now) }
    : letIn(breaker, now, probeTimeoutMs);
}

/** Lets a request in only where nothing is wrong: one that need not be sent is never the probe. */
export function admitClosed(breaker: Breaker, now: Moment, probeTimeoutMs: number): Admission {
  return breaker.gate.kind === 'closed'
    ? letIn(breaker, now, probeTimeoutMs)
    : { kind: 'refused', waitMs: waitMsOf(breaker, now) };
}

/** Milliseconds until a request is let in at the latest, 0 for at once. */
export function waitMsOf({ gate }: Breaker, now: Moment): number {
  switch (gate.kind) {
    case 'closed':
      return 0;
    case 'open':
      return remainingMs(gate.until, now);
    case 'probing':
      return Math.max(remainingMs(gate.until, now), remainingMs(gate.release, now));
  }
}

/** The probe's own time-out must be heard of first: its timer starts a little after its admission. */
const RELEASE_GRACE_MS = 1000;

function letIn(breaker: Breaker, now: Moment, probeTimeoutMs: number): Admission {
  const { gate } = breaker;
  if (gate.kind === 'closed') {
    return { kind: 'admitted', ticket: { serial: gate.serial }, breaker };
  }
  const { until, openings } = gate;
  const serial = breaker.issued + 1;
  const forced = remainingMs(until, now) > 0;
  const probing: Gate = {
    kind: 'probing',
    // A cool-down that is over stays over, even where the clock is set back while the probe is out.
    until: forced ? until : now,
    openings,
    serial,
    release: later(now, probeTimeoutMs + RELEASE_GRACE_MS),
    forced,
  };
  return {
    kind: 'admitted',
    ticket: { serial },
    breaker: { ...breaker, gate: probing, issued: serial },
  };
}

/** Ends a cool-down, for it is said to be well: the next request is the probe. */
export function cooledDown(breaker: Breaker, now: Moment): Breaker {
  const { gate } = breaker;
  if (gate.kind !== 'open' || remainingMs(gate.until, now) === 0) return breaker;
  return { ...breaker, gate: { ...gate, until: now } };
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
  const serial = breaker.issued + 1;
  return {
    health: { ...breaker.health, consecutiveFails: 0, consecutiveSlow: 0 },
    gate: { kind: 'closed', serial },
    issued: serial,
  };
}
