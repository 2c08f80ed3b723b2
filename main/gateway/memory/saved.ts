import { z } from 'zod';
import { type DualTime, endsAtMs, remainingMs } from '../../platform/clock.ts';
import type { Topic, Values } from './topics.ts';

/*
 * What outlives a restart, as plain JSON.
 *
 * A deadline is saved twice: as wall-clock time, so that the time while the process was down counts, and as
 * remaining milliseconds, so that a clock set back meanwhile cannot lengthen it. A clock set forward looks
 * like a long time down and ends it. Ticks are not saved: they mean nothing to the next process.
 */

/** How the values of a topic are saved. */
export interface Codec<Value> {
  readonly encode: (value: Value, now: DualTime) => unknown;
  /** Null if it is no saved value. */
  readonly decode: (saved: unknown, now: DualTime) => Value | null;
}

/** The topics that are saved. */
export type Codecs = { readonly [T in Topic]?: Codec<Values[T]> };

/** For values that are plain JSON. */
export function plain<Value>(schema: z.ZodType<Value>): Codec<Value> {
  return {
    encode: (value) => value,
    decode: (saved) => schema.safeParse(saved).data ?? null,
  };
}

/** The last time value of a Date (ECMA-262, 21.4.1.1). */
const LAST_WALL_MS = 8.64e15;

export const wallMsSchema = z.number().min(0).max(LAST_WALL_MS);

export const deadlineSchema = (longestMs: number) =>
  z.strictObject({ wallMs: wallMsSchema, leftMs: z.number().min(0).max(longestMs) });

type SavedDeadline = Readonly<z.infer<ReturnType<typeof deadlineSchema>>>;

export function encodeDeadline(deadline: DualTime, now: DualTime): SavedDeadline {
  return { wallMs: endsAtMs(deadline, now), leftMs: remainingMs(deadline, now) };
}

export function decodeDeadline(saved: SavedDeadline, now: DualTime): DualTime {
  const ms = Math.min(saved.wallMs - now.wallMs, saved.leftMs);
  const deadline = { ticks: now.ticks + ms, wallMs: saved.wallMs };
  return { ...deadline, wallMs: endsAtMs(deadline, now) };
}
