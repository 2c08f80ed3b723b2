import { isObject } from '#shared/objects.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * The usage of the whole answer from that of its continuation. Of the tokens that were `sent` before, the prompt
 * `held` some; both are estimates.
 */
export function continuedUsage(
  usage: unknown,
  { sent, held }: { readonly sent: number; readonly held: number },
): unknown {
  if (!isObject(usage)) return usage;
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  if (typeof prompt !== 'number' || typeof completion !== 'number') return usage;
  const promptTokens = Math.max(0, prompt - held);
  const completionTokens = completion + sent;
  return {
    ...usage,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...cachedOf(usage, promptTokens),
  };
}

/** A cache holds the beginning of a prompt, so what it held beyond the caller's prompt is of the text. */
function cachedOf(usage: Json, promptTokens: number): Json {
  const { prompt_tokens_details: details, prompt_cache_hit_tokens: hit } = usage;
  const cached = isObject(details) ? details['cached_tokens'] : undefined;
  const atMost = (tokens: number) => Math.min(tokens, promptTokens);
  return {
    ...(isObject(details) &&
      typeof cached === 'number' && {
        prompt_tokens_details: { ...details, cached_tokens: atMost(cached) },
      }),
    // DeepSeek's names, which make up the prompt together.
    ...(typeof hit === 'number' && {
      prompt_cache_hit_tokens: atMost(hit),
      prompt_cache_miss_tokens: promptTokens - atMost(hit),
    }),
  };
}
