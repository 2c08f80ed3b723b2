import { isObject } from '#shared/objects.ts';

/** What an upstream reports of an exchange's tokens; absent is what it does not. */
export interface TokenCounts {
  /** Includes what was read from a cache. */
  readonly input?: number;
  /** Never more than the input. */
  readonly cached?: number;
  readonly output?: number;
  /** Never more than the output. */
  readonly reasoning?: number;
}

/**
 * The counts of a `usage`, under the names of any API. Null for an object that is none, such as a tool's parameter of
 * that name.
 */
export function tokenCounts(usage: unknown): TokenCounts | null {
  if (!isObject(usage)) return null;
  const output = countOf(usage['completion_tokens']) ?? countOf(usage['output_tokens']);
  const cached = cachedOf(usage);
  const told = inputOf(usage);
  // A reranking has a total only.
  const input = output === undefined && told === undefined ? countOf(usage['total_tokens']) : told;
  if (input === undefined && output === undefined) return null;
  const reasoning =
    detailOf(usage, 'completion_tokens_details', 'reasoning_tokens') ??
    detailOf(usage, 'output_tokens_details', 'reasoning_tokens');
  return {
    ...(input !== undefined && { input: withCached(input, cached) }),
    ...(cached !== undefined && { cached }),
    ...(output !== undefined && { output }),
    // Baseten reports more of it than there is output (vercel/ai#18614).
    ...(reasoning !== undefined && { reasoning: Math.min(reasoning, output ?? reasoning) }),
  };
}

/** Anthropic leaves out of its input what it read from its cache or wrote to it; the others do not. */
function inputOf(usage: Readonly<Record<string, unknown>>): number | undefined {
  const prompt = countOf(usage['prompt_tokens']);
  const input = countOf(usage['input_tokens']);
  if (prompt !== undefined || input === undefined) return prompt;
  const read = countOf(usage['cache_read_input_tokens']) ?? 0;
  return input + read + (countOf(usage['cache_creation_input_tokens']) ?? 0);
}

function cachedOf(usage: Readonly<Record<string, unknown>>): number | undefined {
  return (
    // vLLM and SGLang tell it if they are so started (vllm-project/vllm#18149, gpustack/gpustack#5189).
    detailOf(usage, 'prompt_tokens_details', 'cached_tokens') ??
    detailOf(usage, 'input_tokens_details', 'cached_tokens') ??
    // DeepSeek's and Anthropic's.
    countOf(usage['prompt_cache_hit_tokens']) ??
    countOf(usage['cache_read_input_tokens'])
  );
}

/** The counts of llama.cpp's `timings`; its usage counts the whole prompt as input. */
export function timedCounts(timings: unknown): Pick<TokenCounts, 'cached'> | null {
  const cached = isObject(timings) ? countOf(timings['cache_n']) : undefined;
  return cached === undefined ? null : { cached };
}

/** With some models xAI, too, leaves cached tokens out of its input (vercel/ai#12485). */
const withCached = (input: number, cached = 0) => (cached > input ? input + cached : input);

function detailOf(usage: Readonly<Record<string, unknown>>, part: string, name: string) {
  const details = usage[part];
  return isObject(details) ? countOf(details[name]) : undefined;
}

/** More than any exchange has; sums of such numbers stay exact. */
const MAX_TOKENS = 1_000_000_000;

function countOf(value: unknown): number | undefined {
  const isCount = Number.isSafeInteger(value) && (value as number) >= 0;
  return isCount ? Math.min(value as number, MAX_TOKENS) : undefined;
}
