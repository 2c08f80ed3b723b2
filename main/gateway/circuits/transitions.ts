import type { Failure } from '../upstream/failure.ts';
import { type Breaker, type BreakerState, reset, type Permit } from './breaker.ts';
import { later, type DualTime, remainingMs } from './deadline.ts';
import { failedAt, firstContentAt, type HealthRecord, silentFor, succeededAt } from './health.ts';

/** How a request went, as the circuit column of design 4 counts it; a success is known at its end. */
export type Result =
  | { readonly kind: 'success' }
  | { readonly kind: 'failure'; readonly error: string }
  | { readonly kind: 'neutral' };

/** Says nothing about an upstream's health. */
export const NEUTRAL: Result = { kind: 'neutral' };

export function circuitResultOf({ mark, reason, detail }: Failure): Result {
  return mark === 'neutral' ? NEUTRAL : { kind: 'failure', error: `${reason}: ${detail}` };
}

/** When a breaker opens and for how long (interface 2.6, `config`). */
export interface Limits {
  readonly failThreshold: number;
  readonly cooldownMs: number;
  readonly ttftThresholdMs: number;
  readonly ttftSlowThreshold: number;
}

/** What a result is judged by. */
export interface Judging {
  readonly now: DualTime;
  /** Those of now: a changed setting holds from the next result on, for no cool-down that is running. */
  readonly limits: Limits;
  /** In [0, 1). */
  readonly random: number;
}

/**
 * Takes note of how a request went. Every result counts in the lifetime counts, but only that of the
 * present probe, or of a request let in since the breaker last closed, bears on the state. So a late
 * success does not close: the slow streams that opened a breaker would do so as they end.
 */
export function record(
  breaker: Breaker,
  permit: Permit,
  result: Result,
  { now, limits, random }: Judging,
): Breaker {
  const health = healthAfter(breaker.health, result, now.wallMs);
  const { state } = breaker;
  if (!isCurrent(state, permit)) return { ...breaker, health: withRows(health, breaker.health) };
  const known = { ...breaker, health };
  if (state.kind === 'closed') {
    const isFull = result.kind === 'failure' && health.consecutiveFails >= limits.failThreshold;
    return isFull ? { ...known, state: opened(limits, now) } : known;
  }
  switch (result.kind) {
    case 'success':
      return reset(known);
    case 'failure':
      return { ...known, state: reopened(state, { now, limits, random }) };
    case 'neutral':
      return { ...known, state: released(state) };
  }
}

/**
 * An answer that has begun is ended by the idle time-out, not by the upstream's; so only a probe that
 * got lost is still out after this. Longer than nearly any stream, for a probe that is superseded
 * before its end never closes the breaker.
 */
const ANSWERING_PROBE_MS = 600_000;

/**
 * Takes note of first content after `ttftMs`. Slow ones in a row open a closed breaker, a faster one
 * ends the row. A probe is judged by its end alone, but it has been heard of and so is not released yet.
 */
export function firstContent(
  breaker: Breaker,
  permit: Permit,
  ttftMs: number,
  { now, limits }: Omit<Judging, 'random'>,
): Breaker {
  const health = firstContentAt(breaker.health, ttftMs, now.ticks, limits.ttftThresholdMs);
  const { state } = breaker;
  if (!isCurrent(state, permit)) return { ...breaker, health: withRows(health, breaker.health) };
  if (state.kind === 'probing') {
    const leftMs = Math.max(remainingMs(state.release, now), ANSWERING_PROBE_MS);
    return { ...breaker, health, state: { ...state, release: later(now, leftMs) } };
  }
  return { ...breaker, health, state: slowed(state, health, { now, limits }) };
}

/**
 * Takes note of a call that was ended because another was first. To be slow counts as it does for one that
 * answers. A slow probe proved nothing: it is not sent again before another cool-down, or every request
 * would wait for it once more.
 */
export function outrun(
  breaker: Breaker,
  permit: Permit,
  silentMs: number,
  { now, limits }: Omit<Judging, 'random'>,
): Breaker {
  const { state } = breaker;
  const health = silentFor(breaker.health, silentMs, now.ticks, limits.ttftThresholdMs);
  if (!isCurrent(state, permit)) return { ...breaker, health: withRows(health, breaker.health) };
  if (state.kind === 'closed')
    return { ...breaker, health, state: slowed(state, health, { now, limits }) };
  const isSlow = silentMs >= limits.ttftThresholdMs && !state.forced;
  const until = isSlow ? later(now, limits.cooldownMs) : state.until;
  return {
    ...breaker,
    health,
    state: { kind: 'open', until, consecutiveOpens: state.consecutiveOpens },
  };
}

type Closed = Extract<BreakerState, { readonly kind: 'closed' }>;

function slowed(
  gate: Closed,
  health: HealthRecord,
  { now, limits }: Omit<Judging, 'random'>,
): BreakerState {
  return health.consecutiveSlow >= limits.ttftSlowThreshold ? opened(limits, now) : gate;
}

type Admitting = Exclude<BreakerState, { readonly kind: 'open' }>;
type Probing = Extract<BreakerState, { readonly kind: 'probing' }>;

function isCurrent(gate: BreakerState, permit: Permit): gate is Admitting {
  return gate.kind !== 'open' && gate.serial === permit.serial;
}

function healthAfter(health: HealthRecord, result: Result, wallMs: number): HealthRecord {
  switch (result.kind) {
    case 'success':
      return succeededAt(health, wallMs);
    case 'failure':
      return failedAt(health, wallMs, result.error);
    case 'neutral':
      return health;
  }
}

function withRows(
  health: HealthRecord,
  { consecutiveFails, consecutiveSlow }: HealthRecord,
): HealthRecord {
  return { ...health, consecutiveFails, consecutiveSlow };
}

function opened({ cooldownMs }: Limits, now: DualTime): BreakerState {
  return { kind: 'open', until: later(now, cooldownMs), consecutiveOpens: 1 };
}

function released({ until, consecutiveOpens }: Probing): BreakerState {
  return { kind: 'open', until, consecutiveOpens };
}

function reopened(probing: Probing, { now, limits, random }: Judging): BreakerState {
  if (probing.forced) return released(probing);
  const consecutiveOpens = probing.consecutiveOpens + 1;
  return {
    kind: 'open',
    until: later(now, grownMs(limits, consecutiveOpens, random)),
    consecutiveOpens,
  };
}

/** Where doubling ends, before the jitter. */
const LONGEST_MS = 600_000;

/** Doubled with each opening; from the second on ±10 %, so that gateways do not probe in step. */
function grownMs({ cooldownMs }: Limits, openings: number, random: number): number {
  // A longer cool-down than the cap is somebody's own wish; it does not grow.
  const capMs = Math.max(cooldownMs, LONGEST_MS);
  return Math.ceil(Math.min(cooldownMs * 2 ** (openings - 1), capMs) * (0.9 + 0.2 * random));
}
