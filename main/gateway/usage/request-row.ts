import { READ_REASONS } from '#shared/usage.ts';
import { z } from 'zod';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import { type RequestRow } from '#shared/live.ts';
import { isFallbackReason } from '#shared/reasons.ts';
import { parseJson } from '../../platform/json.ts';

/* Requests as they are read back from the database: a file is untrusted input. */

const count = z.int().nonnegative();
const words = z.string().nullable();
const circuit = z.enum(['closed', 'open', 'probing']);
const tokens = z.object({ input: count, output: count, cached: count, estimated: z.boolean() });

export const endedRowSchema = z.object({
  id: z.string().min(1).max(100),
  startedAt: count,
  caller: z.object({ key: words, address: words, userAgent: words }),
  endpoint: z.string(),
  model: words,
  key: words,
  stream: z.boolean(),
  state: z.enum(['done', 'failed', 'broken', 'cancelled']),
  upstream: z.enum(UPSTREAM_IDS).nullable(),
  status: count.nullable(),
  fallbackReason: z.string(),
  events: count,
  endMs: z.int().nullable(),
  tokens: tokens.nullable(),
  attemptCount: count,
  attempts: z.array(
    z.object({
      upstream: z.enum(UPSTREAM_IDS),
      provider: words,
      machine: words,
      cause: z.enum(['turn', 'hedge', 'resume']),
      startMs: z.int(),
      polls: count,
      firstContentMs: z.int().nullable(),
      lastContentMs: z.int().nullable(),
      endMs: z.int().nullable(),
      reason: z.string().refine(isFallbackReason).nullable(),
      error: words,
      model: words,
      circuitBefore: circuit,
      circuitAfter: circuit.nullable(),
      fixedParts: z.array(z.string()).exactOptional(),
      repairedCalls: count.exactOptional(),
      reading: z
        .object({ why: z.enum(READ_REASONS), again: count, message: count.nullable() })
        .exactOptional(),
      tokens: tokens.nullable(),
      cutAtTokens: count.nullable(),
    }),
  ),
}) satisfies z.ZodType<RequestRow>;

/** Those that cannot be read are left out. */
export const requestRows = (texts: readonly string[]): readonly RequestRow[] =>
  texts.flatMap((text) => endedRowSchema.safeParse(parseJson(text)).data ?? []);
