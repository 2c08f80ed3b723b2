import { z } from 'zod';
import { UPSTREAM_IDS } from './ids.ts';
import { isFallbackReason } from './reasons.ts';
import { READ_REASONS } from './usage.ts';

/* The schemas of requests as they are kept. Types come from `live.ts`, so that the window does not load Zod. */

const count = z.int().nonnegative();
const ms = z.int();
const words = z.string().nullable();
const circuit = z.enum(['closed', 'open', 'probing']);
const tokens = z
  .object({ input: count, output: count, cached: count, estimated: z.boolean() })
  .readonly();

/** Times are milliseconds since the request arrived. */
const attemptRowSchema = z
  .object({
    upstream: z.enum(UPSTREAM_IDS),
    /** The machine of the local pool that was called; null for other upstreams. */
    provider: words,
    /** Its name at the time, kept in case it is removed; null if it had none. */
    machine: words,
    /**
     * Why the call was made: it was that upstream's turn, the previous one was slow, or a stream broke off and had to be
     * resumed.
     */
    cause: z.enum(['turn', 'hedge', 'resume']),
    startMs: ms,
    /** Further calls while it was starting; not counted as requests. */
    polls: count,
    /** First content; null before it. */
    firstContentMs: ms.nullable(),
    /** Last content; null before the first, and if the upstream did not stream the answer. */
    lastContentMs: ms.nullable(),
    /** Null while the attempt runs. */
    endMs: ms.nullable(),
    /** Why it did not give the answer; null if it did, or is still running. */
    reason: z.string().refine(isFallbackReason).nullable(),
    /** The failure in the upstream's own words, at most 300 characters, without secrets or the prompt. */
    error: words,
    /** The model that was asked for there; null if the upstream chooses. */
    model: words,
    /** The circuit of the upstream or machine when the call was made, and after its result. */
    circuitBefore: circuit,
    circuitAfter: circuit.nullable(),
    /** The hash in its prompt, which changes with every request, was sent as a constant; absent if not. */
    isHashFixed: z.literal(true).exactOptional(),
    /** Tool calls that the model wrote into its text, and the gateway made; absent if there were none. */
    repairedCalls: count.exactOptional(),
    /** What an own engine that reports its cache has read of a conversation; absent if nothing is to be explained. */
    reading: z
      .object({ why: z.enum(READ_REASONS), again: count, message: count.nullable() })
      .readonly()
      .exactOptional(),
    /** Null while it runs, or if nothing was used. */
    tokens: tokens.nullable(),
    /** The tokens that its engine has read of a longer prompt; null if it has read all, as far as is known. */
    cutAtTokens: count.nullable(),
  })
  .readonly();

/** Never holds the prompt or the answer. */
export const requestRowSchema = z
  .object({
    id: z.string().min(1).max(100),
    /** Wall-clock milliseconds since the epoch. */
    startedAt: count,
    /** `key` is masked, or null if no key is needed. */
    caller: z.object({ key: words, address: words, userAgent: words }).readonly(),
    /** The endpoint's path after the version, such as `chat/completions`. */
    endpoint: z.string(),
    model: words,
    stream: z.boolean(),
    /** Name of the API key that it was sent with; null without one. */
    key: words,
    /** `broken`: the answer had begun and the upstream did not finish it. */
    state: z.enum(['running', 'done', 'failed', 'broken', 'cancelled']),
    /** The upstream that gave the answer; null before that. */
    upstream: z.enum(UPSTREAM_IDS).nullable(),
    /** HTTP status sent to the caller; null before it is known. */
    status: count.nullable(),
    /** The `X-Gateway-Fallback-Reason` value so far. */
    fallbackReason: z.string(),
    /** Events relayed to the caller, about one per token; 0 for answers that were not streamed. */
    events: count,
    endMs: ms.nullable(),
    /** The tokens of all its attempts; null before the first of them has ended. */
    tokens: tokens.nullable(),
    /** What its calls have cost, in billionths of the currency; rows of earlier versions do not say. */
    spentNano: count.default(0),
    /** At most the first 16 attempts; `attemptCount` counts all. */
    attempts: z.array(attemptRowSchema).readonly(),
    attemptCount: count,
  })
  .readonly();

export type AttemptRow = z.infer<typeof attemptRowSchema>;
export type RequestRow = z.infer<typeof requestRowSchema>;
