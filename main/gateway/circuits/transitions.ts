import type { Failure } from '../upstream/failure.ts';
import { type Breaker, type BreakerState, reset, type Permit } from './breaker.ts';
import { later, type DualTime, remainingMs } from './deadline.ts';
import { failedAt, firstContentAt, type HealthRecord, silentFor, succeededAt } from './health.ts';

/** How a request counts in its circuit; a success is known at the end of its answer. */
export type Result =
  | { readonly kind: 'success' }
  | {
      readonly kind: 'failure';
      readonly error: string;
      /** How long it was waited for in vain; 0 where it was not the time-out that ended it. */
      readonly silentMs: number;
      /** What it cost its caller: time, or without end where that was a time-out or an answer that had begun. */
      readonly costMs: number;
    }
  | { readonly kind: 'neutral' };

/** Says nothing about an upstream's health. */
export const NEUTRAL: Result = { kind: 'neutral' };

/** `took.ms` is the attempt's time, `took.silentMs` how much of it was waited in vain. */
export function circuitResultOf(
  { mark, reason, detail }: Failure,
  took: { readonly ms: number; readonly silentMs: number },
): Result {
  if (mark === 'neutral') return NEUTRAL;
  return {
    kind: 'failure',
    error: `${reason}: ${detail}`,
    silentMs: took.silentMs,
    costMs: reason === 'timeout' ? Number.POSITIVE_INFINITY : took.ms,
  };
}

/** When a breaker opens and for how long; the `config` of the status report's counters. */
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
  const isSlow = result.kind === 'failure' && result.silentMs >= limits.ttftThresholdMs;
  const health = healthAfter(breaker.health, result, { wallMs: now.wallMs, isSlow });
  const { state } = breaker;
  if (!isCurrent(state, permit)) return { ...breaker, health: withRows(health, breaker.health) };
  const known = { ...breaker, health };
  if (state.kind === 'closed') {
    if (result.kind !== 'failure') return known;
    const isFull = health.consecutiveFails >= limits.failThreshold;
    return {
      ...known,
      state: isFull ? opened(limits, now) : slowed(state, health, { now, limits }),
    };
  }
  switch (result.kind) {
    case 'success':
      return reset(known);
    case 'failure':
      return {
        ...known,
        state: reopened(state, result.costMs >= limits.ttftThresholdMs, { now, limits, random }),
      };
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
 * answers. A slow probe proved nothing and was dear: it is not sent again before another cool-down, or every
 * request would wait for it once more.
 */
export function outrun(
  breaker: Breaker,
  permit: Permit,
  silentMs: number,
  { now, limits, random }: Judging,
): Breaker {
  const { state } = breaker;
  const health = silentFor(breaker.health, silentMs, now.ticks, limits.ttftThresholdMs);
  if (!isCurrent(state, permit)) return { ...breaker, health: withRows(health, breaker.health) };
  if (state.kind === 'closed')
    return { ...breaker, health, state: slowed(state, health, { now, limits }) };
  const isSlow = silentMs >= limits.ttftThresholdMs;
  const next = isSlow ? reopened(state, true, { now, limits, random }) : released(state);
  return { ...breaker, health, state: next };
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

function healthAfter(
  health: HealthRecord,
  result: Result,
  { wallMs, isSlow }: { readonly wallMs: number; readonly isSlow: boolean },
): HealthRecord {
  switch (result.kind) {
    case 'success':
      return succeededAt(health, wallMs);
    case 'failure':
      return failedAt(health, wallMs, { error: result.error, isSlow });
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

/** Only a probe that was dear makes the cool-down grow: one that failed quickly cost nobody anything. */
function reopened(
  probing: Probing,
  isDear: boolean,
  { now, limits, random }: Judging,
): BreakerState {
  if (probing.forced) return released(probing);
  const consecutiveOpens = probing.consecutiveOpens + (isDear ? 1 : 0);
  return {
    kind: 'open',
    until: later(now, grownMs(limits, consecutiveOpens, random)),
    consecutiveOpens,
  };
}

/** Where doubling ends, before the jitter. */
const LONGEST_MS = 600_000;

/** Doubled with each dear probe; after any probe ±10 %, so that gateways do not probe in step. */
function grownMs({ cooldownMs }: Limits, openings: number, random: number): number {
  // A longer cool-down than the cap is somebody's own wish; it does not grow.
  const capMs = Math.max(cooldownMs, LONGEST_MS);
  return Math.ceil(Math.min(cooldownMs * 2 ** (openings - 1), capMs) * (0.9 + 0.2 * random));
}
