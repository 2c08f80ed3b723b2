import { z } from 'zod';
import { type Breaker, type BreakerState, NEW_BREAKER } from './breaker.ts';
import { endsAtMs, type DualTime, remainingMs } from './deadline.ts';
import {
  MAX_EXCLUSION_MS,
  MODELS_KEPT,
  type Exclusion,
  type Exclusions,
  EXCLUSION_REASONS,
} from './exclusions.ts';
import type { DecayingMean, HealthRecord } from './health.ts';

/*
 * What is kept of circuits across a restart, as plain JSON.
 *
 * A deadline is kept twice: as wall-clock time, so that the time while the process was down counts,
 * and as the milliseconds that were left, so that a clock set back meanwhile cannot keep an upstream
 * out for longer than it would have been. A clock set forward looks like a long time down and ends
 * the cool-down; that lets in one probe, never everybody, since an open breaker stays open.
 *
 * Ticks and serials are not kept: ticks mean nothing to the next process, and no ticket outlives
 * this one. So a probe that was out is gone, and its breaker is open.
 */

/** The longest that can be configured (24 h), with its jitter. */
const LONGEST_COOLDOWN_MS = 86_400_000 * 1.1;
/** What a Date can hold (ECMA-262, 21.4.1.1). */
const LAST_WALL_MS = 8.64e15;

const count = z.int().nonnegative();
const wallMs = z.number().min(0).max(LAST_WALL_MS);

const deadlineSchema = (longestMs: number) =>
  z.strictObject({ wallMs, leftMs: z.number().min(0).max(longestMs) });

/** A time-decayed mean as it is kept. */
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

const skipUntil = deadlineSchema(MAX_EXCLUSION_MS);
const skipsSchema = z.strictObject({
  version: z.literal(1),
  skips: z
    .array(
      z.discriminatedUnion('reason', [
        z.strictObject({ reason: z.enum(EXCLUSION_REASONS), until: skipUntil }),
        z.strictObject({
          reason: z.literal('model_not_found'),
          model: z.string(),
          until: skipUntil,
        }),
      ]),
    )
    .max(EXCLUSION_REASONS.length + MODELS_KEPT),
});

/** A breaker as it is kept. */
export type SavedBreaker = Readonly<z.infer<typeof breakerSchema>>;
/** An upstream's skips as they are kept. */
export type SavedExclusions = Readonly<z.infer<typeof skipsSchema>>;
type SavedDeadline = Readonly<z.infer<typeof skipUntil>>;

/** A breaker as plain JSON. */
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

/** A breaker as it was kept, to be used before the first request; null for anything else than that. */
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

/** An upstream's skips as plain JSON. */
export function encodeExclusions(skips: Exclusions, now: DualTime): SavedExclusions {
  return {
    version: 1,
    skips: skips.map((skip) => ({ ...skip, until: encodeDeadline(skip.until, now) })),
  };
}

/** Skips as they were kept; null for anything else than that. */
export function decodeExclusions(saved: unknown, now: DualTime): Exclusions | null {
  const parsed = skipsSchema.safeParse(saved);
  if (!parsed.success) return null;
  return parsed.data.skips.map((skip): Exclusion => ({
    ...skip,
    until: decodeDeadline(skip.until, now),
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

/** A mean as plain JSON: ticks mean nothing to the next process. */
export function encodeMean({ value, weight, at }: DecayingMean, now: DualTime): SavedMean {
  return { value, weight, wallMs: Math.max(0, now.wallMs - (now.ticks - at)) };
}

/** The mean again, with the ticks of this process. */
export function decodeMean(
  { value, weight, wallMs: takenMs }: SavedMean,
  now: DualTime,
): DecayingMean {
  return { value, weight, at: now.ticks - Math.max(0, now.wallMs - takenMs) };
}
