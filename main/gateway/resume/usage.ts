import { isObject } from '#shared/objects.ts';

/**
 * The usage of an answer that was continued, from that of the continuation: what was sent before counted
 * there as prompt, and is part of the answer. `sentTokens` is an estimate.
 */
export function continuedUsage(usage: unknown, sentTokens: number): unknown {
  if (!isObject(usage)) return usage;
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  if (typeof prompt !== 'number' || typeof completion !== 'number') return usage;
  const promptTokens = Math.max(0, prompt - sentTokens);
  const completionTokens = completion + sentTokens;
  return {
    ...usage,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}
