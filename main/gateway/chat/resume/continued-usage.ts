import { isObject } from '#shared/objects.ts';
import type { ToldPrompt } from './transcript.ts';

type Json = Readonly<Record<string, unknown>>;

/** Estimates of the tokens that were sent before, and of those among them that the continuation's prompt held. */
interface Counted {
  readonly sent: number;
  readonly held: number;
  /** The caller's prompt, where the first stream has told it. */
  readonly prompt: ToldPrompt | null;
}

/** The usage of the whole answer from that of its continuation. */
export function continuedUsage(usage: unknown, { sent, held, prompt: told }: Counted): unknown {
  if (!isObject(usage)) return usage;
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  if (typeof prompt !== 'number' || typeof completion !== 'number') return usage;
  const promptTokens = told?.tokens ?? Math.max(0, prompt - held);
  const completionTokens = completion + sent;
  return {
    ...usage,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...cachedOf(usage, promptTokens, told),
  };
}

/** A cache holds the beginning of a prompt, so what it held beyond the caller's prompt is of the text. */
function cachedOf(usage: Json, promptTokens: number, told: ToldPrompt | null): Json {
  const { prompt_tokens_details: details, prompt_cache_hit_tokens: hit } = usage;
  const cached = isObject(details) ? details['cached_tokens'] : undefined;
  const ofPrompt = (tokens: number) => told?.cached ?? Math.min(tokens, promptTokens);
  return {
    ...(isObject(details) &&
      typeof cached === 'number' && {
        prompt_tokens_details: { ...details, cached_tokens: ofPrompt(cached) },
      }),
    // DeepSeek's names, which make up the prompt together.
    ...(typeof hit === 'number' && {
      prompt_cache_hit_tokens: ofPrompt(hit),
      prompt_cache_miss_tokens: promptTokens - ofPrompt(hit),
    }),
  };
}
