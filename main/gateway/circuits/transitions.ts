import type { Failure } from '../upstream/failure.ts';
import { type Breaker, type BreakerState, reset, type Permit } from './breaker.ts';
import { later, type DualTime, remainingMs } from '../../platform/clock.ts';
import { failedAt, firstContentAt, type HealthRecord, silentFor, succeededAt } from './health.ts';

/** How a call counts in its circuit; a success is known at the end of its answer. */
export type Result =
  | { readonly kind: 'success' }
  | {
      readonly kind: 'failure';
      readonly error: string;
      /** Silence before its time-out; 0 for other failures. */
      readonly silentMs: number;
      /** Time that the failure cost the caller; infinite for a time-out and for an answer that broke off. */
      readonly costMs: number;
    }
  | { readonly kind: 'neutral' };

/** For a call that says nothing about the upstream's health. */
export const NEUTRAL: Result = { kind: 'neutral' };

/** `took.ms` is the attempt's duration, `took.silentMs` its silence before a time-out. */
export function circuitResultOf(
  { mark, reason, detail }: Failure,
  took: { readonly ms: number; readonly silentMs: number } = { ms: 0, silentMs: 0 },
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

export interface Conditions {
  readonly now: DualTime;
  /** The current ones: a changed setting applies from the next result on, never to a running cool-down. */
  readonly limits: Limits;
  /** In [0, 1). */
  readonly random: number;
}

/**
 * Records a call's result. Every result counts in the lifetime counts, but only that of the current probe, or
 * of a call admitted since the breaker last closed, changes the state. So a late success does not close the
 * breaker: otherwise the slow streams that opened it would close it as they end.
 */
export function record(
  breaker: Breaker,
  permit: Permit,
  result: Result,
  { now, limits, random }: Conditions,
): Breaker {
  const isSlow = result.kind === 'failure' && result.silentMs >= limits.ttftThresholdMs;
  const health = healthAfter(breaker.health, result, { wallMs: now.wallMs, isSlow });
  const { state } = breaker;
  if (!isCurrent(state, permit))
    return { ...breaker, health: withConsecutive(health, breaker.health) };
  const counted = { ...breaker, health };
  if (state.kind === 'closed') {
    if (result.kind !== 'failure') return counted;
    const hasFailed = health.consecutiveFails >= limits.failThreshold;
    return {
      ...counted,
      state: hasFailed ? opened(limits, now) : slowed(state, health, { now, limits }),
    };
  }
  switch (result.kind) {
    case 'success':
      return reset(counted);
    case 'failure':
      return {
        ...counted,
        state: reopened(state, result.costMs >= limits.ttftThresholdMs, { now, limits, random }),
      };
    case 'neutral':
      return { ...counted, state: released(state) };
  }
}

/**
 * How long a probe may take once its content has come. Longer than nearly any stream, because a probe that is
 * superseded before its end never closes the breaker; the idle time-out ends one that hangs.
 */
const ANSWERING_PROBE_MS = 600_000;

/**
 * Records first content after `ttftMs`. Consecutive slow ones open a closed breaker, and a faster one resets
 * their count. A probe is judged by its end alone, but its first content extends its release.
 */
export function firstContent(
  breaker: Breaker,
  permit: Permit,
  ttftMs: number,
  { now, limits }: Omit<Conditions, 'random'>,
): Breaker {
  const health = firstContentAt(breaker.health, ttftMs, now.ticks, limits.ttftThresholdMs);
  const { state } = breaker;
  if (!isCurrent(state, permit))
    return { ...breaker, health: withConsecutive(health, breaker.health) };
  if (state.kind === 'probing') {
    const releaseMs = Math.max(remainingMs(state.release, now), ANSWERING_PROBE_MS);
    return { ...breaker, health, state: { ...state, release: later(now, releaseMs) } };
  }
  return { ...breaker, health, state: slowed(state, health, { now, limits }) };
}

/**
 * Records a call that was aborted because another call's content came first. Being slow counts as it does for
 * a call that answers. A slow probe is followed by another cool-down, as a costly failure is: otherwise every
 * request would wait for the next probe.
 */
export function hedgeLost(
  breaker: Breaker,
  permit: Permit,
  silentMs: number,
  { now, limits, random }: Conditions,
): Breaker {
  const { state } = breaker;
  const health = silentFor(breaker.health, silentMs, now.ticks, limits.ttftThresholdMs);
  if (!isCurrent(state, permit))
    return { ...breaker, health: withConsecutive(health, breaker.health) };
  if (state.kind === 'closed')
    return { ...breaker, health, state: slowed(state, health, { now, limits }) };
  const isSlow = silentMs >= limits.ttftThresholdMs;
  const nextState = isSlow ? reopened(state, true, { now, limits, random }) : released(state);
  return { ...breaker, health, state: nextState };
}

type Closed = Extract<BreakerState, { readonly kind: 'closed' }>;

function slowed(
  state: Closed,
  health: HealthRecord,
  { now, limits }: Omit<Conditions, 'random'>,
): BreakerState {
  return health.consecutiveSlow >= limits.ttftSlowThreshold ? opened(limits, now) : state;
}

type Admitting = Exclude<BreakerState, { readonly kind: 'open' }>;
type Probing = Extract<BreakerState, { readonly kind: 'probing' }>;

function isCurrent(state: BreakerState, permit: Permit): state is Admitting {
  return state.kind !== 'open' && state.serial === permit.serial;
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

function withConsecutive(
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

/** Only a costly probe lengthens the cool-down: one that failed quickly cost its caller nothing. */
function reopened(
  probing: Probing,
  isCostly: boolean,
  { now, limits, random }: Conditions,
): BreakerState {
  if (probing.isForced) return released(probing);
  const consecutiveOpens = probing.consecutiveOpens + (isCostly ? 1 : 0);
  return {
    kind: 'open',
    until: later(now, grownMs(limits, consecutiveOpens, random)),
    consecutiveOpens,
  };
}

/** Upper limit of the doubling, before the jitter. */
const MAX_GROWN_MS = 600_000;

/** Doubled with each costly probe; ±10 % after any probe, so that several gateways do not probe in step. */
function grownMs({ cooldownMs }: Limits, consecutiveOpens: number, random: number): number {
  // A configured cool-down above the limit is kept and does not grow.
  const capMs = Math.max(cooldownMs, MAX_GROWN_MS);
  return Math.ceil(
    Math.min(cooldownMs * 2 ** (consecutiveOpens - 1), capMs) * (0.9 + 0.2 * random),
  );
}

export interface Opening {
  /** It was closed; otherwise its probe has failed. */
  readonly isFirst: boolean;
  /** Callers waited and got nothing: a passed health check does not show that it answers requests. */
  readonly wasSilent: boolean;
}

/** Null if it has not opened. The failure of a forced probe does not count as an opening. */
export function openingOf(before: Breaker, after: Breaker, limits: Limits): Opening | null {
  if (after.state.kind !== 'open' || before.state.kind === 'open') return null;
  if (before.state.kind === 'probing') {
    if (before.state.isForced) return null;
    return {
      isFirst: false,
      wasSilent: after.state.consecutiveOpens > before.state.consecutiveOpens,
    };
  }
  const { consecutiveSlow } = after.health;
  return { isFirst: true, wasSilent: consecutiveSlow >= limits.ttftSlowThreshold };
}
