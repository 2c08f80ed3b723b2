import { z } from 'zod';
import {
  type Codec,
  deadlineSchema,
  decodeDeadline,
  encodeDeadline,
  wallMsSchema,
} from '../memory/memory.ts';
import type { Values } from '../memory/topics.ts';
import { NEW_BREAKER } from './breaker.ts';
/** The longest configurable cool-down (24 h) with its jitter. */
const LONGEST_COOLDOWN_MS = 86_400_000 * 1.1;

const count = z.int().nonnegative();

export const meanSchema = z.strictObject({
  value: z.number().nonnegative(),
  weight: z.number().nonnegative(),
  atMs: wallMsSchema,
});

const savedSchema = z.strictObject({
  health: z.strictObject({
    requests: count,
    fails: count,
    successes: count,
    consecutiveFails: count,
    consecutiveSlow: count,
    lastError: z.string().nullable(),
    lastFailAt: wallMsSchema.nullable(),
    lastSuccessAt: wallMsSchema.nullable(),
    lastTtftMs: z.number().nonnegative().nullable(),
    ttft: meanSchema.nullable(),
  }),
  cooldown: z
    .strictObject({ until: deadlineSchema(LONGEST_COOLDOWN_MS), openings: z.int().positive() })
    .nullable(),
});

/**
 * Serials are not saved, as no permit outlives this process. A running probe is lost, and its breaker is open. A cool-down
 * that a clock set forward has ended admits one probe only.
 */
export const circuitCodec: Codec<Values['circuit']> = {
  encode({ breaker: { health, state } }, now) {
    const cooldown =
      state.kind === 'closed'
        ? null
        : { until: encodeDeadline(state.until, now), openings: state.consecutiveOpens };
    return { health, cooldown } satisfies z.infer<typeof savedSchema>;
  },
  decode(saved, now) {
    const known = savedSchema.safeParse(saved).data;
    if (known === undefined) return null;
    const { health, cooldown } = known;
    if (cooldown === null) return { breaker: { ...NEW_BREAKER, health }, epoch: 0 };
    const { until, openings: consecutiveOpens } = cooldown;
    const state = { kind: 'open', until: decodeDeadline(until, now), consecutiveOpens } as const;
    return { breaker: { ...NEW_BREAKER, health, state }, epoch: 0 };
  },
};
