import { z } from 'zod';
import { isObject } from '../../platform/json.ts';
import { type DualTime, endsAtMs, remainingMs } from '../../platform/clock.ts';
import {
  type Breaker,
  type BreakerState,
  type DecayingMean,
  type HealthRecord,
  NEW_BREAKER,
} from './breaker.ts';
import {
  type Exclusion,
  EXCLUSION_REASONS,
  type Exclusions,
  MAX_EXCLUDED_MODELS,
  MAX_EXCLUSION_MS,
  NO_EXCLUSIONS,
} from './exclusions.ts';

/*
 * Circuits as plain JSON, saved over a restart.
 *
 * A deadline is saved twice: as wall-clock time, so that the time while the process was down counts, and as
 * remaining milliseconds, so that a clock set back meanwhile cannot lengthen it. A clock set forward looks
 * like a long time down and ends the cool-down; that admits one probe only, as the breaker stays open.
 *
 * Ticks and serials are not saved: ticks mean nothing to the next process, and no permit outlives this one.
 * A running probe is lost, and its breaker is open.
 */

/** The longest configurable cool-down (24 h) with its jitter. */
const LONGEST_COOLDOWN_MS = 86_400_000 * 1.1;
/** The last time value of a Date (ECMA-262, 21.4.1.1). */
const LAST_WALL_MS = 8.64e15;

const count = z.int().nonnegative();
const wallMs = z.number().min(0).max(LAST_WALL_MS);

const deadlineSchema = (longestMs: number) =>
  z.strictObject({ wallMs, leftMs: z.number().min(0).max(longestMs) });

export const meanSchema = z.strictObject({
  value: z.number().nonnegative(),
  weight: z.number().nonnegative(),
  wallMs,
});

const breakerSchema = z.strictObject({
  version: z.literal(1),
  requests: count,
  fails: count,
  successes: count,
  consecutiveFails: count,
  consecutiveSlow: count,
  lastError: z.string().nullable(),
  lastFailAt: wallMs.nullable(),
  lastSuccessAt: wallMs.nullable(),
  lastTtftMs: z.number().nonnegative().nullable(),
  ttft: meanSchema.nullable(),
  cooldown: z
    .strictObject({ until: deadlineSchema(LONGEST_COOLDOWN_MS), openings: z.int().positive() })
    .nullable(),
});

const exclusionDeadline = deadlineSchema(MAX_EXCLUSION_MS);
const exclusionsSchema = z.strictObject({
  version: z.literal(1),
  skips: z
    .array(
      z.discriminatedUnion('reason', [
        z.strictObject({ reason: z.enum(EXCLUSION_REASONS), until: exclusionDeadline }),
        z.strictObject({
          reason: z.literal('model_not_found'),
          model: z.string(),
          until: exclusionDeadline,
        }),
      ]),
    )
    .max(EXCLUSION_REASONS.length + MAX_EXCLUDED_MODELS),
});

type SavedBreaker = Readonly<z.infer<typeof breakerSchema>>;
type SavedExclusions = Readonly<z.infer<typeof exclusionsSchema>>;
type SavedDeadline = Readonly<z.infer<typeof exclusionDeadline>>;

export function encodeBreaker({ health, state }: Breaker, now: DualTime): SavedBreaker {
  return {
    version: 1,
    ...health,
    ttft: health.ttft === null ? null : encodeMean(health.ttft, now),
    cooldown:
      state.kind === 'closed'
        ? null
        : { until: encodeDeadline(state.until, now), openings: state.consecutiveOpens },
  };
}

/** For use before the first request; null if `saved` is not a saved breaker. */
export function decodeBreaker(saved: unknown, now: DualTime): Breaker | null {
  const parsed = breakerSchema.safeParse(saved);
  if (!parsed.success) return null;
  const { version: _, cooldown, ttft, ...counts } = parsed.data;
  const health: HealthRecord = { ...counts, ttft: ttft === null ? null : decodeMean(ttft, now) };
  const state: BreakerState =
    cooldown === null
      ? NEW_BREAKER.state
      : {
          kind: 'open',
          until: decodeDeadline(cooldown.until, now),
          consecutiveOpens: cooldown.openings,
        };
  return { ...NEW_BREAKER, health, state };
}

export function encodeExclusions(exclusions: Exclusions, now: DualTime): SavedExclusions {
  return {
    version: 1,
    skips: exclusions.map((each) => ({ ...each, until: encodeDeadline(each.until, now) })),
  };
}

/** Null if `saved` is not a saved list of exclusions. */
export function decodeExclusions(saved: unknown, now: DualTime): Exclusions | null {
  const parsed = exclusionsSchema.safeParse(saved);
  if (!parsed.success) return null;
  return parsed.data.skips.map((each): Exclusion => ({
    ...each,
    until: decodeDeadline(each.until, now),
  }));
}

function encodeDeadline(deadline: DualTime, now: DualTime): SavedDeadline {
  return { wallMs: endsAtMs(deadline, now), leftMs: remainingMs(deadline, now) };
}

function decodeDeadline(saved: SavedDeadline, now: DualTime): DualTime {
  const ms = Math.min(saved.wallMs - now.wallMs, saved.leftMs);
  const deadline = { ticks: now.ticks + ms, wallMs: saved.wallMs };
  return { ...deadline, wallMs: endsAtMs(deadline, now) };
}

type SavedMean = z.infer<typeof meanSchema>;

export function encodeMean({ value, weight, at }: DecayingMean, now: DualTime): SavedMean {
  return { value, weight, wallMs: Math.max(0, now.wallMs - (now.ticks - at)) };
}

export function decodeMean(
  { value, weight, wallMs: takenMs }: SavedMean,
  now: DualTime,
): DecayingMean {
  return { value, weight, at: now.ticks - Math.max(0, now.wallMs - takenMs) };
}

/* All circuits as plain JSON. */

export interface CircuitRecord {
  readonly breaker: Breaker;
  readonly exclusions: Exclusions;
}

export function encodedCircuits(
  circuits: ReadonlyMap<string, CircuitRecord>,
  now: DualTime,
): unknown {
  return Object.fromEntries(
    [...circuits].map(([id, { breaker, exclusions }]) => [
      id,
      { breaker: encodeBreaker(breaker, now), skips: encodeExclusions(exclusions, now) },
    ]),
  );
}

export function decodedCircuits(
  saved: unknown,
  now: DualTime,
): [id: string, known: CircuitRecord][] {
  if (!isObject(saved)) return [];
  return Object.entries(saved).flatMap(([id, each]) => {
    if (!isObject(each)) return [];
    const breaker = decodeBreaker(each['breaker'], now) ?? NEW_BREAKER;
    const exclusions = decodeExclusions(each['skips'], now) ?? NO_EXCLUSIONS;
    return [[id, { breaker, exclusions }]];
  });
}
