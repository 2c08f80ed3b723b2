import { estimatedTokens } from '../protocols/usage.ts';

/** A large model on a processor: assumed of an engine until it has read a long prompt. */
const UNKNOWN_TOKENS_PER_SECOND = 100;
/** The length is estimated, and an engine that reads two prompts at once takes twice as long for each. */
const MARGIN = 2;
/** What the configured limits allow for anyway. */
const SHORT_TOKENS = 200;
/** No window of a local model is larger: pictures make a body far longer than its prompt. */
const MAX_TOKENS = 262_144;

/** A prompt on its way to an engine or machine of one's own. */
export interface PromptReading {
  readonly bytes: number;
  /** Of the model, in tokens; null while unknown. */
  readonly window: number | null;
  /** Measured; null while unknown. */
  readonly tokensPerSecond: number | null;
}

/**
 * How long an engine may take to read a prompt, in milliseconds. All of it, as its cache may be gone: engines unload a
 * model that rests, and do not say so.
 */
export function readingMs({ bytes, window, tokensPerSecond }: PromptReading): number {
  const tokens = Math.min(estimatedTokens(bytes, 0).input, window ?? MAX_TOKENS);
  const long = Math.max(0, tokens - SHORT_TOKENS);
  return (MARGIN * 1000 * long) / (tokensPerSecond ?? UNKNOWN_TOKENS_PER_SECOND);
}

/**
 * Until when the next sign must come of an engine that says that it is at work, as it does after each batch of a prompt:
 * the next one may take twice as long.
 */
export function deadlineAfter(
  nowTicks: number,
  { before, silenceMs }: { readonly before: number; readonly silenceMs: number },
): number {
  return nowTicks + silenceMs + MARGIN * (nowTicks - before);
}
