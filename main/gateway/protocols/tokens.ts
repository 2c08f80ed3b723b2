import { isObject, memberOf, parseJson } from '../../platform/json.ts';
import type { Tokens } from '#shared/usage.ts';
import { endOfText } from './json-edit.ts';
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
  return asTokens(readUsage(isLong ? Buffer.concat(ends) : bytes));
}

/** More than any model writes in one answer, and than pictures, videos and searches add to what a prompt's bytes explain. */
const MAX_TOKENS_MORE = 1_000_000;

/** More than an exchange can have would use up a budget or the limit of a key; engines that don't count say 0. */
const isCredible = ({ input, output }: Tokens, { length }: Buffer): boolean =>
  input + output > 0 && input <= length + MAX_TOKENS_MORE && output <= MAX_TOKENS_MORE;

interface MeteredRequest {
  readonly bytes: Buffer;
  readonly endpoint: {
    readonly body: 'json' | 'multipart';
    readonly estimate?: unknown;
    readonly answer: { readonly stream: object | null };
  };
}

/** What came of an answer. */
export interface OutputSoFar {
  /** As the upstream has told it so far. */
  readonly told: Tokens | null;
  /** Tokens that came, as a guess. */
  readonly output: number;
}

export const NOTHING_SPENT: OutputSoFar = { told: null, output: 0 };

/** What it told, or what came of it if that is more and not to its end; null if that is not even to be guessed. */
export function tokensOf(
  { told, output: came }: OutputSoFar,
  { endpoint, bytes }: MeteredRequest,
  isWhole = false,
): Tokens | null {
  // What has no stream has no tokens in its answer, such as vectors.
  const hasOutput = endpoint.answer.stream !== null;
  const output = hasOutput ? came : 0;
  // The size of a recording says nothing of its tokens, and counting tokens uses none.
  const hasGuess = endpoint.body === 'json' && endpoint.estimate === undefined;
  if (told !== null && isCredible(told, bytes)) {
    // Anthropic tells one token at the beginning, and how many it were at the end.
    const isEnough = told.output >= output || (isWhole && !told.estimated);
    const isInputTold = told.input > 0 || !hasGuess;
    const input = isInputTold ? told.input : tokensIn(bytes);
    const estimated = !isInputTold || !isEnough || (told.estimated && hasOutput);
    return { ...told, input, output: isEnough ? told.output : output, estimated };
  }
  return hasGuess ? { input: tokensIn(bytes), output, cached: 0, estimated: true } : null;
}

/** An event with no more text counts as one token. */
const SHORT_TEXT_BYTES = 32;
/** What the model itself wrote, in an event of a piece of an answer: others repeat the prompt, or all that came before. */
const PIECE = /delta"|"choices"/;
const TEXT = /"(?:content|text|delta|arguments|partial_json|thinking|reasoning\w*)"\s*:\s*"/g;

/** Null for an event that is no piece of an answer. */
function textBytesIn(event: Buffer): number | null {
  const json = event.toString('latin1');
  if (!PIECE.test(json)) return null;
  const texts = Array.from(json.matchAll(TEXT), ({ index, 0: { length } }) =>
    json.slice(index + length, endOfText(event, index + length)),
  );
  // OpenRouter sends thoughts under two names.
  return [...new Set(texts)].reduce((sum, { length }) => sum + length, 0);
}

/** Reads the usage of a relayed stream, and counts what was sent of it. */
export class UsageMeter {
  /** The gateway asked for the event with the usage: its caller did not, and must not get it. */
  readonly #isHidden: boolean;
  /** Events that were sent, about one for each token. */
  relayed = 0;
  /** What longer texts have beyond the token of their event. */
  #tokensMore = 0;
  /** As long as an event was with a short text, as far as they were looked at. */
  #shortBytes = 0;
  /** Anthropic tells them in two events. */
  #known: TokenCounts = {};

  constructor(isHidden: boolean) {
    this.#isHidden = isHidden;
  }

  spent(): OutputSoFar {
    return { told: asTokens(this.#known), output: this.relayed + Math.round(this.#tokensMore) };
  }

  /** Looks at none that is as short as those before: most are a token. */
  sent(frames: Frames): void {
    const { bytes, ends } = frames;
    this.relayed += ends.length;
    if (bytes.length <= ends.length * this.#shortBytes) return;
    for (const event of eventsOf(frames)) {
      const text = textBytesIn(event);
      if (text === null) continue;
      this.#shortBytes = Math.max(this.#shortBytes, event.length - text + SHORT_TEXT_BYTES);
      if (text > SHORT_TEXT_BYTES) this.#tokensMore += text / BYTES_PER_TOKEN - 1;
    }
  }

  /** The events that the caller gets. */
  take(frames: Frames): Frames {
    if (!frames.bytes.includes(KEY)) return frames;
    this.#known = { ...this.#known, ...readUsage(frames.bytes) };
    if (!this.#isHidden) return frames;
    return framesOf(eventsOf(frames).filter((event) => !isUsageAlone(event)));
  }
}

/** The event behind the last choice, which comes only where it is asked for. */
function isUsageAlone(event: Buffer): boolean {
  const chunk = parseJson(dataOf(event) ?? '');
  const choices = memberOf(chunk, 'choices');
  return isObject(memberOf(chunk, 'usage')) && Array.isArray(choices) && choices.length === 0;
}

/** The figures of every object that is called `usage`; later ones count. */
function readUsage(bytes: Buffer): TokenCounts {
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
  // llama.cpp's came half a year before the usage's own figure (ggml-org/llama.cpp#15827, #19361).
  const cached = known.cached ?? countOf(memberOf(timings, 'cache_n'));
  return known.input === undefined || cached === undefined ? known : { ...known, cached };
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
  readonly reasoning?: number | undefined;
}

type Usage = Readonly<Record<string, unknown>>;

/**
 * The counts of a `usage`, under the names of any API. Null for an object that is none, such as a tool's parameter of
 * that name.
 */
export function tokenCounts(usage: unknown): TokenCounts | null {
  if (!isObject(usage) || !areCounts(usage)) return null;
  const cached = cachedOf(usage);
  const reasoning =
    detailOf(usage, 'completion_tokens_details', 'reasoning_tokens') ??
    detailOf(usage, 'output_tokens_details', 'reasoning_tokens');
  const told = inputOf(usage);
  const output = outputOf(usage, { input: told, cached, reasoning });
  // A reranking has a total only.
  const input = output === undefined && told === undefined ? countOf(usage['total_tokens']) : told;
  if (input === undefined && output === undefined) return null;
  return {
    ...(input !== undefined && { input: withCached(input, cached) }),
    ...(cached !== undefined && { cached }),
    ...(output !== undefined && { output }),
    // Baseten reports more of it than there is output (vercel/ai#18614).
    ...(reasoning !== undefined && { reasoning: Math.min(reasoning, output ?? reasoning) }),
  };
}

/**
 * xAI and Gemini count thoughts in the total alone (vercel/ai#12425, Wei-Shaw/sub2api#5771). What it has beyond input and
 * output may also be what a cache took part in, or a mistake.
 */
function outputOf(usage: Usage, { input, cached, reasoning }: TokenCounts): number | undefined {
  const told = countOf(usage['completion_tokens']) ?? countOf(usage['output_tokens']);
  if (told === undefined || input === undefined) return told;
  const more = (countOf(usage['total_tokens']) ?? 0) - input - told;
  const thoughts = Math.min(more, reasoning ?? (more === cached ? 0 : more));
  return more > MAX_TOKENS_MORE ? told : told + Math.max(0, thoughts);
}

/** Anthropic leaves out of its input what it read from its cache or wrote to it; the others do not. */
function inputOf(usage: Usage): number | undefined {
  const prompt = countOf(usage['prompt_tokens']);
  const input = countOf(usage['input_tokens']);
  if (prompt !== undefined || input === undefined) return prompt;
  const read = countOf(usage['cache_read_input_tokens']) ?? 0;
  return input + read + (countOf(usage['cache_creation_input_tokens']) ?? 0);
}

function cachedOf(usage: Usage): number | undefined {
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

/** With some models xAI, too, leaves cached tokens out of its input (vercel/ai#12485). */
const withCached = (input: number, cached = 0) => (cached > input ? input + cached : input);

const detailOf = (usage: Usage, part: string, name: string) => countOf(memberOf(usage, part, name));

/** More than any exchange has; sums of such numbers stay exact. */
const MAX_TOKENS = 1_000_000_000;

/** If one of them is no count, none is believed: what is missing would cost nothing. */
const FIGURES = ['prompt_tokens', 'completion_tokens', 'input_tokens', 'output_tokens'];
const NOT_BELIEVED: TokenCounts = { input: undefined, output: undefined };

const areCounts = (usage: unknown) => FIGURES.every((name) => isCount(memberOf(usage, name) ?? 0));

const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0;

const countOf = (value: unknown) => (isCount(value) ? Math.min(value, MAX_TOKENS) : undefined);

/*
 * How many tokens a body probably has. Its pictures, PDFs and recordings are base64, of which no model reads the characters.
 */

/** Of English and of code; other languages take more tokens, but also more bytes. */
const BYTES_PER_TOKEN = 4;
/** For an image of the size to which Anthropic scales larger ones down. */
const TOKENS_PER_IMAGE = 1600;
/** Of a PDF, as text and as a picture (docs.anthropic.com, PDF support), and the bytes of a usual page. */
const TOKENS_PER_PAGE = 2000;
const BYTES_PER_PAGE = 64 * 1024;
/** As MP3 16 a second, as a WAV of 16 kHz 32: OpenAI counts 10, Gemini 32 (ai.google.dev, Understand and count tokens). */
const BYTES_PER_RECORDED_TOKEN = 1024;

/** In a member called `data` or `file_data`, or in a data URL; its own first characters are the last of what is matched. */
const DATA = /(?:data"\s*:\s*"|(?<!\\)"data:(?!text)[^",]*;base64,).{7}$/s;
const ABOUT_BYTES = 128;
/** By its type, or by its own `%PDF-`. Words of another part do not count, of which a brace would be between. */
const PDF = /pdf[^{}]*$|JVBERi0$/;
const RECORDING = /(?:audio|video)[^{}]*\{?[^{}]*$/;

/** Of a run of base64. */
function tokensOfRun(length: number, about: string): number {
  if (!DATA.test(about)) return length / BYTES_PER_TOKEN;
  const bytes = length * 0.75;
  if (PDF.test(about)) return Math.ceil(bytes / BYTES_PER_PAGE) * TOKENS_PER_PAGE;
  if (RECORDING.test(about)) return bytes / BYTES_PER_RECORDED_TOKEN;
  return Math.min(TOKENS_PER_IMAGE, length / BYTES_PER_TOKEN);
}

const BACKSLASH = 0x5c;
const WEB_ADDRESS = Buffer.from('"http');
/** Before the web address of a picture in a chat or in responses, and in messages. */
const LINKS = /(?:image_url"\s*:\s*(?:\{[^{}]*"url"\s*:\s*)?|source"\s*:\s*\{[^{}]*"url"\s*:\s*)$/;

/** How many pictures a body has by their web addresses. */
function linkedIn(body: Buffer): number {
  let count = 0;
  for (let at = -1; (at = body.indexOf(WEB_ADDRESS, at + 1)) !== -1;) {
    const isInText = body[at - 1] === BACKSLASH;
    if (!isInText && LINKS.test(body.toString('latin1', Math.max(0, at - ABOUT_BYTES), at)))
      count += 1;
  }
  return count;
}

/** Less is a thumbnail, whose characters do little harm. */
const MIN_DATA_BYTES = 1024;
/** With the letters for URLs, and the backslash that some write before a slash or a line end. */
const IS_BASE64 = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(/[\w+/=\\-]/.test(String.fromCharCode(byte))),
);

/**
 * Looks for long runs of base64, backwards from where one would have its 1,024th byte: a text has a blank there, or a few
 * bytes before, so that most of its bytes are not looked at, and none twice.
 */
export function tokensIn(body: Buffer): number {
  let textBytes = body.length;
  let [ofRuns, start, seen] = [0, 0, 0];
  for (let last = MIN_DATA_BYTES - 1; last < body.length; last = start + MIN_DATA_BYTES - 1) {
    let at = last;
    while (at >= seen && IS_BASE64[body[at] ?? 0] === 1) at -= 1;
    if (at < seen) {
      const quote = body.indexOf('"', last);
      at = quote === -1 ? body.length : quote;
      const about = body.toString('latin1', Math.max(0, start - ABOUT_BYTES), start + 7);
      textBytes -= at - start;
      ofRuns += tokensOfRun(at - start, about);
    }
    start = at + 1;
    seen = Math.max(start, last + 1);
  }
  return Math.ceil(textBytes / BYTES_PER_TOKEN + ofRuns) + TOKENS_PER_IMAGE * linkedIn(body);
}
