import { z } from 'zod';
import { type DualTime, later, remainingMs, wallMsSchema } from '../../platform/clock.ts';
import type { Failure } from '../upstream/failure.ts';

const count = z.int().nonnegative().default(0);

export const meanSchema = z.strictObject({
  value: z.number().nonnegative(),
  weight: z.number().nonnegative(),
  atMs: wallMsSchema,
});

/** A time-decayed mean: a sample's weight halves every minute, however many follow it. */
export type DecayingMean = Readonly<z.infer<typeof meanSchema>>;

const HALF_LIFE_MS = 60_000;

/** The mean with one more sample, taken at `atMs`. */
export function withSample(mean: DecayingMean | null, sample: number, atMs: number): DecayingMean {
  if (mean === null) return { value: sample, weight: 1, atMs };
  const kept = mean.weight * 0.5 ** (Math.max(0, atMs - mean.atMs) / HALF_LIFE_MS);
  const weight = kept + 1;
  return { value: (mean.value * kept + sample) / weight, weight, atMs };
}

export const roundedMean = (mean: DecayingMean | null): number | null =>
  mean === null ? null : Math.round(mean.value);

const timeOrNever = wallMsSchema.nullable().default(null);

/** What a record lacks, as one saved by an earlier version may, is not known of it. */
export const healthSchema = z.strictObject({
  requests: count,
  fails: count,
  successes: count,
  consecutiveFails: count,
  consecutiveSlow: count,
  lastError: z.string().nullable().default(null),
  lastFailAt: timeOrNever,
  lastSuccessAt: timeOrNever,
  lastTtftMs: z.number().nonnegative().nullable().default(null),
  ttft: meanSchema.nullable().default(null),
  /**
   * What a call that began after the last failure must reach to show that the upstream is well again; null: nothing. For
   * people: routing counts failures in a row, which the end of an earlier call resets.
   */
  owes: z.enum(['content', 'end']).nullable().default(null),
  /** When the call began that last showed it. */
  provenAt: timeOrNever,
});

/** Counts and times of an upstream's attempts. */
export type HealthRecord = Readonly<z.infer<typeof healthSchema>>;

/** How long a call was silent. `slowMs`: the part that counts as slow, without the time for reading the prompt. */
export interface Silence {
  readonly silentMs: number;
  readonly slowMs: number;
}

/** `consecutiveOpens` is 1 plus the number of doublings since the breaker last closed. */
interface Cooldown {
  readonly until: DualTime;
  readonly consecutiveOpens: number;
}

export type BreakerState =
  | { readonly kind: 'closed' }
  /** Admits no request until the cool-down is over, then one as the probe. */
  | ({ readonly kind: 'open' } & Cooldown)
  /** The probe is running: nothing but its result closes the breaker, until `release` has passed. */
  | ({
      readonly kind: 'probing';
      readonly release: DualTime;
      /** Admitted before the cool-down was over, because no other upstream was left. */
      readonly isForced: boolean;
      /**
       * Its first content came, and in time if slowness opened the breaker: others are admitted next to it, until one of
       * them fails.
       */
      readonly isAnswering: boolean;
    } & Cooldown);

/** A circuit breaker (docs/reference/routing-rules.md#circuits) as a value. It knows neither ids nor HTTP. */
export interface Breaker {
  readonly health: HealthRecord;
  readonly state: BreakerState;
  /** Of the probe or the closed period, or of the last one: a late result of an earlier one is recognised by it. */
  readonly serial: number;
}

/** Issued with an admission and returned with its result. */
export interface Permit {
  readonly serial: number;
  /** The serial of the probe that it was admitted next to; null: of none. */
  readonly nextTo: number | null;
  /** When it was issued. */
  readonly wallMs: number;
}

export type Admission =
  | { readonly kind: 'admitted'; readonly permit: Permit; readonly breaker: Breaker }
  /** A request is admitted in `waitMs` (never 0) at the latest. */
  | { readonly kind: 'refused'; readonly waitMs: number };

const UNUSED: HealthRecord = healthSchema.parse({});

export const NEW_BREAKER: Breaker = { health: UNUSED, state: { kind: 'closed' }, serial: 0 };

/**
 * `in_turn`: in routing order; `again`: a retry, or after a wait that the upstream asked for, when exclusions by the first
 * try do not count; `forced`: during the cool-down, as no other upstream is left, as a probe whose failure does not
 * lengthen it; `hedge`: during a slow call, which need not be sent and is never the probe.
 */
export type AdmissionMode = 'in_turn' | 'again' | 'forced' | 'hedge';

/** Of a permit that matches no state of a breaker: its result is counted, but changes nothing. */
export const COUNTED_ONLY = -1;

/** After a cool-down the first request admitted is the probe; what comes next to it can only keep others away. */
export function admissionTo(
  breaker: Breaker,
  now: DualTime,
  mode: AdmissionMode,
  probeTimeoutMs: number,
): Admission {
  const { state, health } = breaker;
  const waitMs = waitMsOf(breaker, now);
  const isProbing = state.kind === 'probing' && remainingMs(state.release, now) > 0;
  // What is only slow answers a request that has no other place to go.
  const isForced = mode === 'forced' && (!isProbing || health.consecutiveFails === 0);
  const isAdmitted = mode === 'hedge' ? state.kind === 'closed' : isForced || waitMs === 0;
  if (!isAdmitted) return { kind: 'refused', waitMs };
  const isProbe = state.kind !== 'closed' && !isProbing;
  const after = isProbe ? withProbe(breaker, state, now, probeTimeoutMs) : breaker;
  const [serial, nextTo] = isProbing ? [COUNTED_ONLY, after.serial] : [after.serial, null];
  return { kind: 'admitted', permit: { serial, nextTo, wallMs: now.wallMs }, breaker: after };
}

/** Milliseconds until a request is admitted at the latest; 0: at once. */
export function waitMsOf({ state }: Breaker, now: DualTime): number {
  switch (state.kind) {
    case 'closed':
      return 0;
    case 'open':
      return remainingMs(state.until, now);
    case 'probing':
      if (state.isAnswering) return 0;
      return Math.max(remainingMs(state.until, now), remainingMs(state.release, now));
  }
}

/** The probe's own timeout must be recorded first: its timer starts a little after its admission. */
const RELEASE_GRACE_MS = 1000;

function withProbe(
  breaker: Breaker,
  { until, consecutiveOpens }: Cooldown,
  now: DualTime,
  timeoutMs: number,
): Breaker {
  const isForced = remainingMs(until, now) > 0;
  const state: BreakerState = {
    kind: 'probing',
    // A cool-down that is over stays over, even if the clock is set back while the probe is running.
    until: isForced ? until : now,
    consecutiveOpens,
    release: later(now, timeoutMs + RELEASE_GRACE_MS),
    isForced,
    isAnswering: false,
  };
  return { ...breaker, state, serial: breaker.serial + 1 };
}

/** Ends a cool-down early, after a passed health check: the next request is the probe. */
export function cooledDown(breaker: Breaker, now: DualTime): Breaker {
  const { state } = breaker;
  if (state.kind !== 'open' || remainingMs(state.until, now) === 0) return breaker;
  return { ...breaker, state: { ...state, until: now } };
}

export function sent(breaker: Breaker): Breaker {
  const { health } = breaker;
  return { ...breaker, health: { ...health, requests: health.requests + 1 } };
}

/**
 * Closes the breaker and clears the consecutive counts, the growth of the cool-down and the probe; lifetime
 * counts stay. Running requests no longer affect its state: they may have used a former address or key.
 */
export function reset(breaker: Breaker): Breaker {
  return {
    health: { ...breaker.health, consecutiveFails: 0, consecutiveSlow: 0, owes: null },
    state: { kind: 'closed' },
    serial: breaker.serial + 1,
  };
}

/** How a call counts in its circuit; a success is known at the end of its answer. */
export type Result =
  | { readonly kind: 'success' }
  | {
      readonly kind: 'failure';
      readonly error: string;
      /** Silence before its timeout; 0 for other failures. */
      readonly silentMs: number;
      /** Time that the failure cost the caller; infinite for a timeout and for an answer that broke off. */
      readonly costMs: number;
    }
  /** Another call's content came first. */
  | ({ readonly kind: 'outrun' } & Silence)
  | { readonly kind: 'neutral' };

/** For a call that says nothing about the upstream's health. */
export const NEUTRAL: Result = { kind: 'neutral' };

const WELL_MS = 120_000;

/** Whether a call that began at most so long before this one, or after it, has shown that the upstream was well. */
export const wasWell = ({ owes, provenAt }: HealthRecord, { wallMs }: Permit): boolean =>
  owes === null && provenAt !== null && provenAt > wallMs - WELL_MS;

/** `took.ms` is the attempt's duration, `took.silentMs` its silence before a timeout. */
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
  const health = healthAfter(breaker.health, result, now.wallMs, limits);
  const { state } = breaker;
  if (state.kind === 'open' || breaker.serial !== permit.serial) {
    const late = countedLate(breaker, health);
    const hasNeighborFailed = result.kind === 'failure' && breaker.serial === permit.nextTo;
    // The probe may trickle for minutes while every other call fails.
    return hasNeighborFailed && state.kind === 'probing' && state.isAnswering
      ? { ...late, state: { ...state, isAnswering: false } }
      : late;
  }
  const shown = shownBy(result, breaker.health, permit, now);
  const counted = { ...breaker, health: { ...health, ...shown } };
  if (state.kind === 'closed') {
    const hasFailed = result.kind === 'failure' && health.consecutiveFails >= limits.failThreshold;
    if (hasFailed) return { ...counted, state: opened(limits, now) };
    const isSlow = result.kind === 'failure' || result.kind === 'outrun';
    return isSlow ? slowed(counted, result.kind, { now, limits }) : counted;
  }
  if (result.kind === 'success') return reset(counted);
  return { ...counted, state: probed(state, result, { now, limits, random }) };
}

/**
 * How long a probe may take once its content has come. Longer than nearly any stream, because a probe that is
 * superseded before its end never closes the breaker; the idle timeout ends one that hangs.
 */
const ANSWERING_PROBE_MS = 600_000;

/**
 * Records first content after a silence. Consecutive slow ones open a closed breaker, and a faster one resets
 * their count. A probe is judged by its end alone: its first content extends its release, and does not
 * reset the count, which says why the breaker is open.
 */
export function firstContent(
  breaker: Breaker,
  permit: Permit,
  { silentMs, slowMs }: Silence,
  { now, limits }: Omit<Conditions, 'random'>,
): Breaker {
  const { ttft, consecutiveSlow } = breaker.health;
  const isSlow = slowMs > limits.ttftThresholdMs;
  const { state } = breaker;
  const health = {
    ...breaker.health,
    lastTtftMs: Math.round(silentMs),
    ttft: withSample(ttft, silentMs, now.wallMs),
    consecutiveSlow: isSlow ? consecutiveSlow + 1 : state.kind === 'closed' ? 0 : consecutiveSlow,
  };
  if (state.kind === 'open' || breaker.serial !== permit.serial)
    return countedLate(breaker, health);
  if (state.kind === 'probing') {
    const releaseMs = Math.max(remainingMs(state.release, now), ANSWERING_PROBE_MS);
    const isAnswering = !isSlow || health.consecutiveFails > 0;
    return { ...breaker, health, state: { ...state, release: later(now, releaseMs), isAnswering } };
  }
  const shown = shownBy({ kind: 'content' }, health, permit, now);
  return slowed({ ...breaker, health: { ...health, ...shown } }, 'content', { now, limits });
}

function slowed(
  breaker: Breaker,
  by: 'failure' | 'outrun' | 'content',
  { now, limits }: Omit<Conditions, 'random'>,
): Breaker {
  const { health } = breaker;
  if (health.consecutiveSlow < limits.ttftSlowThreshold) return breaker;
  const failed = by === 'failure' ? health.consecutiveFails : 0;
  // Reports take failures in a row for the cause of an opening, so they count only where all that was slow failed.
  const consecutiveFails = failed < limits.ttftSlowThreshold ? 0 : failed;
  return { ...breaker, health: { ...health, consecutiveFails }, state: opened(limits, now) };
}

type Probing = Extract<BreakerState, { readonly kind: 'probing' }>;

/** A failure after a long silence counts as slow, too. */
function healthAfter(
  health: HealthRecord,
  result: Result,
  wallMs: number,
  { ttftThresholdMs }: Limits,
): HealthRecord {
  const { successes, fails, consecutiveFails, consecutiveSlow, ttft } = health;
  switch (result.kind) {
    case 'success':
      return { ...health, successes: successes + 1, consecutiveFails: 0, lastSuccessAt: wallMs };
    case 'failure':
      return {
        ...health,
        fails: fails + 1,
        consecutiveFails: consecutiveFails + 1,
        consecutiveSlow: consecutiveSlow + (result.silentMs >= ttftThresholdMs ? 1 : 0),
        lastError: result.error,
        lastFailAt: wallMs,
      };
    case 'outrun': {
      const { silentMs, slowMs } = result;
      // Its time to first token would have been at least that, so the mean may only rise.
      const isLonger = silentMs > (ttft?.value ?? 0);
      return {
        ...health,
        ttft: isLonger ? withSample(ttft, silentMs, wallMs) : ttft,
        consecutiveSlow: consecutiveSlow + (slowMs >= ttftThresholdMs ? 1 : 0),
      };
    }
    case 'neutral':
      return health;
  }
}

/** What its end, or its first content, shows of how the upstream is now. */
function shownBy(
  result: Result | { readonly kind: 'content' },
  { owes, provenAt, lastFailAt }: HealthRecord,
  { wallMs }: Permit,
  now: DualTime,
): Partial<HealthRecord> {
  // What lies ahead was noted before the clock was set back.
  const past = (at: number | null) => (at !== null && at <= now.wallMs ? at : 0);
  if (result.kind === 'failure') {
    if (result.costMs < Infinity) return { owes: 'content' };
    // What it waited for may have been lost before a call began that was answered.
    return wallMs < past(provenAt) ? {} : { owes: 'end' };
  }
  const isFar = result.kind === 'success' || (result.kind === 'content' && owes !== 'end');
  const isProof = isFar && wallMs >= past(lastFailAt);
  return isProof ? { owes: null, provenAt: Math.max(past(provenAt), wallMs) } : {};
}

/** Counts the result of a call that was admitted earlier, which changes neither the state nor what leads to it. */
function countedLate(breaker: Breaker, health: HealthRecord): Breaker {
  const { consecutiveFails, consecutiveSlow } = breaker.health;
  return { ...breaker, health: { ...health, consecutiveFails, consecutiveSlow } };
}

function opened({ cooldownMs }: Limits, now: DualTime): BreakerState {
  return { kind: 'open', until: later(now, cooldownMs), consecutiveOpens: 1 };
}

/**
 * The cool-down after a probe that was no success. Only a costly probe lengthens it: one that failed quickly cost its caller
 * nothing. A slow one that was outrun is as costly as a failure, or every request would wait for the next probe.
 */
function probed(
  probing: Probing,
  result: Exclude<Result, { readonly kind: 'success' }>,
  { now, limits, random }: Conditions,
): BreakerState {
  const { until, consecutiveOpens: opens } = probing;
  const released = { kind: 'open', until, consecutiveOpens: opens } as const;
  if (probing.isForced || result.kind === 'neutral') return released;
  const costMs = result.kind === 'failure' ? result.costMs : result.slowMs;
  const isCostly = costMs >= limits.ttftThresholdMs;
  if (result.kind === 'outrun' && !isCostly) return released;
  const consecutiveOpens = opens + (isCostly ? 1 : 0);
  const grownUntil = later(now, grownMs(limits, consecutiveOpens, random));
  return { kind: 'open', until: grownUntil, consecutiveOpens };
}

/** Upper limit of the doubling, before the jitter. */
const MAX_GROWN_MS = 600_000;

/** Doubled with each costly probe; ±10 % after any probe, so that several gateways do not probe in step. */
function grownMs({ cooldownMs }: Limits, consecutiveOpens: number, random: number): number {
  // A configured cool-down above the limit is kept and does not grow.
  const capMs = Math.max(cooldownMs, MAX_GROWN_MS);
  const grown = Math.min(cooldownMs * 2 ** (consecutiveOpens - 1), capMs);
  return Math.ceil(grown * (0.9 + 0.2 * random));
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
    const wasSilent = after.state.consecutiveOpens > before.state.consecutiveOpens;
    return { isFirst: false, wasSilent };
  }
  const { consecutiveSlow } = after.health;
  return { isFirst: true, wasSilent: consecutiveSlow >= limits.ttftSlowThreshold };
}
