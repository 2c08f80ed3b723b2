import { isObject, memberOf, parseJson } from '../../platform/json.ts';
import type { Tokens } from '#shared/usage.ts';
import { dataOf, eventsOf, type Frames, framesOf } from './sse.ts';

const KEY = Buffer.from('"usage"');
const TIMINGS = Buffer.from('"timings"');
/** With two levels of objects within it. A name cannot occur in text, escaped as it is. */
const FOUND = /"(usage|timings)"\s*:\s*(\{[^{}]*(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}[^{}]*)*\})/g;

/** It is at the beginning or at the end of an answer, and the middle may be long. */
const MAX_SEARCHED_BYTES = 64 * 1024;

/**
 * The usage that a whole answer or some events report: chat completions and completions, responses, messages,
 * embeddings and rerankings name the same figures in their own ways. Null without any.
 */
export function reportedTokens(bytes: Buffer): Tokens | null {
  const ends = [bytes.subarray(0, MAX_SEARCHED_BYTES), bytes.subarray(-MAX_SEARCHED_BYTES)];
  const isLong = bytes.length > 2 * MAX_SEARCHED_BYTES;
  return asTokens(readUsage(isLong ? Buffer.concat(ends) : bytes) ?? {});
}

/** Above what the prompt's bytes explain: pictures, videos and searches that the upstream added are smaller than this. */
const MAX_TOKENS_ADDED = 1_000_000;
/** More than any model writes in one answer, its thoughts included. */
const MAX_OUTPUT_TOKENS = 1_000_000;

/**
 * What an upstream has told, or null for more than an exchange can have, which would use up a budget or the limit of a key,
 * and for a prompt of no tokens, as engines that don't count them say.
 */
export function credible(
  told: Tokens | null,
  { bytes }: Pick<MeteredRequest, 'bytes'>,
): Tokens | null {
  if (told === null) return null;
  const isPossible =
    told.input > 0 &&
    told.input <= bytes.length + MAX_TOKENS_ADDED &&
    told.output <= MAX_OUTPUT_TOKENS;
  return isPossible ? told : null;
}

/** Of English and of code; other languages take more tokens, but also more bytes. */
export const BYTES_PER_TOKEN = 4;

/** `promptBytes` is the length of the request, its JSON included. */
export function estimatedTokens(promptBytes: number, output: number): Tokens {
  const input = Math.ceil(promptBytes / BYTES_PER_TOKEN);
  return { input, output, cached: 0, estimated: true };
}

interface MeteredRequest {
  readonly bytes: Buffer;
  readonly endpoint: {
    readonly body: 'json' | 'multipart';
    readonly estimate?: unknown;
    readonly answer: { readonly stream: object | null };
  };
}

/** What a whole answer has used, as the upstream sent it; null if that is not even to be guessed. */
export function tokensOf(body: Buffer, request: MeteredRequest): Tokens | null {
  const told = credible(reportedTokens(body), request);
  const { output } = spentIn(body.length);
  if (told?.estimated !== true) return told ?? guessed(request, output);
  return hasNoOutput(request) ? { ...told, estimated: false } : { ...told, output };
}

function guessed(request: MeteredRequest, output: number): Tokens | null {
  const { endpoint, bytes } = request;
  // The size of a recording says nothing of its tokens, and counting tokens uses none.
  if (endpoint.body !== 'json' || endpoint.estimate !== undefined) return null;
  return estimatedTokens(bytes.length, hasNoOutput(request) ? 0 : output);
}

/** What has no stream has no tokens in its answer, such as vectors. */
const hasNoOutput = ({ endpoint }: MeteredRequest): boolean => endpoint.answer.stream === null;

/** What came of an answer. */
export interface OutputSoFar {
  /** As the upstream has told it so far. */
  readonly told: Tokens | null;
  /** Tokens that came, about one an event. */
  readonly output: number;
}

export const NOTHING_SPENT: OutputSoFar = { told: null, output: 0 };

/** What a call has used that did not come to its end: what it told, or what came of it if that is more. */
export function tokensOfPart(spent: OutputSoFar, request: MeteredRequest): Tokens | null {
  const { output } = spent;
  const told = credible(spent.told, request);
  if (told === null) return guessed(request, output);
  // Anthropic tells one token at the beginning, and how many it were at the end.
  return told.output >= output ? told : { ...told, output, estimated: true };
}

/** Of a body that came in part. */
export const spentIn = (bytes: number): OutputSoFar => ({
  told: null,
  output: Math.ceil(bytes / BYTES_PER_TOKEN),
});

/** Reads the usage of a relayed stream; the answer's other events cost it one search of their bytes. */
export class UsageMeter {
  /** The gateway asked for the event with the usage: its caller did not, and must not get it. */
  readonly #isHidden: boolean;
  /** Events that were sent, about one for each token. */
  relayed = 0;
  /** Anthropic tells them in two events. */
  #known: TokenCounts | null = null;

  constructor(isHidden: boolean) {
    this.#isHidden = isHidden;
  }

  tokens(): Tokens | null {
    return this.#known === null ? null : asTokens(this.#known);
  }

  /** The events that the caller gets. */
  take(frames: Frames): Frames {
    if (!frames.bytes.includes(KEY)) return frames;
    const found = readUsage(frames.bytes);
    if (found === null) return frames;
    this.#known = { ...this.#known, ...found };
    if (!this.#isHidden) return frames;
    return framesOf(eventsOf(frames).filter((event) => !isUsageAlone(event)));
  }
}

/** The event behind the last choice, which comes only where it is asked for. */
function isUsageAlone(event: Buffer): boolean {
  if (!event.includes(KEY)) return false;
  const chunk = parseJson(dataOf(event) ?? '');
  if (!isObject(chunk) || !isObject(chunk['usage'])) return false;
  const { choices } = chunk;
  return Array.isArray(choices) && choices.length === 0;
}

/** The figures of every object that is called `usage`; later ones count. */
function readUsage(bytes: Buffer): TokenCounts | null {
  let known: TokenCounts = {};
  let timings: unknown;
  // Bytes are searched for a name in a tenth of the time.
  const places = [KEY, TIMINGS].map((name) => bytes.indexOf(name)).filter((at) => at !== -1);
  const text = bytes.toString('latin1', Math.min(...places));
  for (const [, name, json = ''] of text.matchAll(FOUND)) {
    const value = parseJson(json);
    if (name === 'timings') timings = value;
    else known = { ...known, ...(areCounts(value) ? tokenCounts(value) : NOT_BELIEVED) };
  }
  if (Object.keys(known).length === 0) return null;
  const isTimed = known.input !== undefined && known.cached === undefined;
  return isTimed ? { ...known, ...timedCounts(timings) } : known;
}

/** Estimated: of the prompt alone, to which its output is to be added. */
function asTokens({ input, output, cached = 0 }: TokenCounts): Tokens | null {
  const estimated = output === undefined;
  return input === undefined ? null : { input, output: output ?? 0, cached, estimated };
}

/** What an upstream reports of an exchange's tokens; absent is what it does not. */
export interface TokenCounts {
  /** Includes what was read from a cache. */
  readonly input?: number | undefined;
  /** Never more than the input. */
  readonly cached?: number | undefined;
  readonly output?: number | undefined;
  /** Never more than the output. */
  readonly reasoning?: number;
}

/**
 * The counts of a `usage`, under the names of any API. Null for an object that is none, such as a tool's parameter of
 * that name.
 */
export function tokenCounts(usage: unknown): TokenCounts | null {
  if (!isObject(usage) || !areCounts(usage)) return null;
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
    // Moonshot (platform.moonshot.ai/docs/api/chat)
    countOf(usage['cached_tokens']) ??
    countOf(usage['cache_read_input_tokens'])
  );
}

/**
 * What llama.cpp had in its cache, from its `timings`: it came half a year before the usage's own figure
 * (ggml-org/llama.cpp#15827, #19361). Its usage counts the whole prompt as input.
 */
function timedCounts(timings: unknown): Pick<TokenCounts, 'cached'> | null {
  const cached = countOf(memberOf(timings, 'cache_n'));
  return cached === undefined ? null : { cached };
}

/** With some models xAI, too, leaves cached tokens out of its input (vercel/ai#12485). */
const withCached = (input: number, cached = 0) => (cached > input ? input + cached : input);

const detailOf = (usage: Readonly<Record<string, unknown>>, part: string, name: string) =>
  countOf(memberOf(usage, part, name));

/** More than any exchange has; sums of such numbers stay exact. */
const MAX_TOKENS = 1_000_000_000;

/** If one of them is no count, none is believed: what is missing would cost nothing. */
const FIGURES = ['prompt_tokens', 'completion_tokens', 'input_tokens', 'output_tokens'];
const NOT_BELIEVED: TokenCounts = { input: undefined, output: undefined };

const areCounts = (usage: unknown) => FIGURES.every((name) => isCount(memberOf(usage, name) ?? 0));

const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0;

const countOf = (value: unknown) => (isCount(value) ? Math.min(value, MAX_TOKENS) : undefined);
