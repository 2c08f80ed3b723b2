import type { Knowledge } from '../memory/memory.ts';
import type { TextRate } from '../memory/topics.ts';
import type { ChatRequest } from '../protocols/chat-request.ts';
import { endOfText, type JsonBody, type Span } from '../protocols/json-edit.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { LocalOption } from './machine-choice.ts';
import { unreadBytes } from './readings.ts';

/* Whether a prompt fits the window of a model of one's own, and engines that cut prompts without a word. */

/** `once`: it may have been an accident; `again`: at the same length, so that this is the engine's window. */
export type Cut = 'once' | 'again';

/** Below it a rate says nothing. */
const MIN_SAMPLES = 5;
/** Shorter requests are mostly template. */
const MIN_BYTES = 1024;
const NEW = 0.05;
/** How much shorter, for its characters, a prompt may be than any that the rate was learnt from. */
const SHARE = 0.8;
/** A reported length below this share of what it must have been is no error of the estimate. */
const FAR_BELOW = 0.75;
/** The smallest window that an engine is set to by default, 2,048, of which some leave a little to the answer. */
const MIN_WINDOW = 2000;
/** Two reports that differ by less are the same. */
const SAME = 0.02;
/** Two prompts that differ by less are as long as each other. */
const ALIKE = 0.05;

/** The models that were caught being sent a part of prompts only. */
export const cutWindowsIn = (known: Knowledge) =>
  known.entries('window').map(({ key, value: { tokens } }) => ({ model: String(key), tokens }));

/** In tokens; what the engine says (`declared`), or less if it was caught cutting; null while unknown. */
export function windowAt(known: Knowledge, model: string, declared: number | null): number | null {
  const caught = known.get('window', model);
  // Another window has been set since.
  if (caught === null || caught.declared !== declared) return declared;
  return Math.min(caught.tokens, declared ?? caught.tokens);
}

/** Whether the prompt surely does not fit its model's window; notes that it does not. */
export function exceedsWindow({ known, model, facts, form }: LocalOption): boolean {
  if (model === null) return false;
  const { request } = form;
  const window = windowAt(known, model, facts?.context_length ?? null);
  // No token is shorter than a byte.
  if (window === null || request.bytes.length <= window) return false;
  const length = lengthOf(request);
  const isTooLong = length !== null && leastTokens(length, known.get('text_rate', model)) > window;
  if (isTooLong) known.set('too_long', model, true);
  return isTooLong;
}

/**
 * Takes what one's own engine reports of a prompt's length; returns whether it has cut it. Ollama before 0.2 and 0.30.0
 * leave out of the report what they had in their cache (ollama/ollama#2068, #16414), which is no cut.
 */
export function noteLength(known: Knowledge, call: ReadCall, tokens: number): Cut | null {
  const { model, request } = call;
  // Most requests: too short to have been cut, or to tell a rate.
  const isShort = request.bytes.length < MIN_BYTES && tokens < MIN_WINDOW;
  const length = isShort || tokens === 0 ? null : lengthOf(request);
  if (length === null) return null;
  const least = leastTokens(length, known.get('text_rate', model));
  if (tokens < FAR_BELOW * least) return cutAt(known, call, tokens, least);
  if (request.bytes.length >= MIN_BYTES) learnTextRate(known, model, length, tokens);
  if (tokens > longestAt(known, model)) known.set('longest', model, { tokens });
  // It reads more than was thought.
  if (tokens > (known.get('window', model)?.tokens ?? Infinity)) known.delete('window', model);
  return null;
}

type ReadCall = Pick<UpstreamCall, 'model' | 'request' | 'window' | 'prefix'>;

const longestAt = (known: Knowledge, model: string) => known.get('longest', model)?.tokens ?? 0;

function cutAt(known: Knowledge, call: ReadCall, tokens: number, least: number): Cut | null {
  const { model, window: declared, request, prefix } = call;
  const promptBytes = request.bytes.length;
  const longest = longestAt(known, model);
  if (tokens < Math.max(MIN_WINDOW, longest / 2, (1 - SAME) * (declared ?? 0))) return null;
  const newBytes = unreadBytes(promptBytes, prefix);
  // No token is shorter than a byte: then it was not only the rest that it reported.
  const isMoreThanNew = tokens > newBytes;
  // What it has read before explains what is missing.
  if (!isMoreThanNew && least - tokens <= promptBytes - newBytes) return null;
  const before = known.get('cut', model);
  if (before === null || !isWithin(SAME, before.tokens, tokens)) {
    known.set('cut', model, { tokens, promptBytes });
    return 'once';
  }
  // A cut leaves the same of prompts of every length.
  const isAlike = !isMoreThanNew && isWithin(ALIKE, before.promptBytes, promptBytes);
  if (isAlike || tokens < (1 - SAME) * longest) return 'once';
  known.set('window', model, { tokens: Math.max(before.tokens, tokens), declared });
  return 'again';
}

const isWithin = (share: number, a: number, b: number) => Math.abs(a - b) <= share * Math.max(a, b);

function learnTextRate(
  known: Knowledge,
  model: string,
  { usualTokens }: PromptLength,
  tokens: number,
): void {
  if (usualTokens === 0) return;
  const before = known.get('text_rate', model) ?? NO_RATE;
  known.set('text_rate', model, withSample(before, tokens / usualTokens));
}

/** The fewest that a prompt can have: by its words, or by what others had for their characters. */
function leastTokens(length: PromptLength, rate: TextRate | null): number {
  // Never more than is usual: the next prompt may be prose, where those before were figures or long lists of tools.
  const byRate = rate === null ? 0 : Math.min(1, lowestOf(rate)) * length.usualTokens;
  return Math.max(Math.floor(byRate), length.leastTokens);
}

const NO_RATE: TextRate = { samples: 0, mean: 0, variance: 0 };

function withSample({ samples, mean, variance }: TextRate, rate: number): TextRate {
  const weight = Math.max(NEW, 1 / (samples + 1));
  const deviation = rate - mean;
  return {
    samples: samples + 1,
    mean: mean + weight * deviation,
    variance: (1 - weight) * (variance + weight * deviation * deviation),
  };
}

/** Three standard deviations below the mean, and a margin for texts of another kind. */
function lowestOf({ samples, mean, variance }: TextRate): number {
  if (samples < MIN_SAMPLES) return 0;
  return SHARE * Math.max(0, mean - 3 * Math.sqrt(variance));
}

/*
 * The fewest tokens that a prompt can have, whatever the model: no tokenizer joins two words that a blank parts, so
 * each is a token at least (github.com/openai/tiktoken, tiktoken_ext/openai_public.py, and the `pre_tokenizer` of the
 * models at huggingface.co split so; SentencePiece does by `split_by_whitespace`). What a chat template may leave out
 * does not count: names of members, thoughts of earlier turns, calls of tools.
 */

/** What a look at the texts of a prompt tells of its length. */
interface PromptLength {
  /** The fewest tokens that it can have. */
  readonly leastTokens: number;
  /** The fewest that its characters have with a tokenizer of a large vocabulary; with some models even fewer. */
  readonly usualTokens: number;
}

const PROMPTS: ReadonlySet<string> = new Set([
  'messages',
  'system',
  'prompt',
  'input',
  'instructions',
]);

const TEXTS: readonly Buffer[] = ['content', 'text', 'output'].map((name) => Buffer.from(name));

/** A margin for texts and templates that were not foreseen. */
const WORDS_SHARE = 0.9;

/** Of one body; what stands behind them does not count, because a pass over it would block the event loop. */
const MAX_MEASURED_BYTES = 4 * 1024 * 1024;

/** The body stays the same, and is asked about for each machine. */
const lengths = new WeakMap<Buffer, PromptLength | null>();

type MeasuredRequest = Pick<ChatRequest, 'endpoint' | 'needs'> & JsonBody;

/** Null if its texts do not tell it: pictures and recordings have tokens that no byte tells. */
export function lengthOf(request: MeasuredRequest): PromptLength | null {
  const before = lengths.get(request.bytes);
  if (before !== undefined) return before;
  const length = isMeasurable(request) ? lengthOfTexts(request) : null;
  lengths.set(request.bytes, length);
  return length;
}

function isMeasurable({ endpoint, bytes, needs }: MeasuredRequest): boolean {
  const isPrompt =
    !endpoint.keepsModel && endpoint.body === 'json' && endpoint.estimate === undefined;
  return isPrompt && !needs().vision && !bytes.includes('"input_audio"');
}

function lengthOfTexts({ bytes, members }: JsonBody): PromptLength {
  const texts: Texts = { words: 0, sixths: 0 };
  let left = MAX_MEASURED_BYTES;
  for (const member of members) {
    // A list of prompts is several of them.
    const isList = member.key === 'prompt' && member.last !== null;
    if (!PROMPTS.has(member.key) || isList) continue;
    const { start } = member;
    const end = Math.min(member.end, start + left);
    left -= end - start;
    addTexts(texts, bytes, { start, end });
  }
  return {
    leastTokens: Math.floor(WORDS_SHARE * texts.words),
    usualTokens: Math.floor(texts.sixths / 6),
  };
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const BLANK = 0x20;
/** `\n`, `\t`, `\r`, `\f` and `\b` as JSON writes them. */
const ESCAPED_BLANKS: ReadonlySet<number> = new Set(Buffer.from('ntrfb'));

/** The letter of escapes such as `\u8a9e`, and how many digits follow it. */
const UNICODE = 0x75;
const UNICODE_DIGITS = 4;

/**
 * Sixths of a token for the character that begins with a byte: English has a token for 4.5 characters with the largest
 * vocabularies, languages of other letters more. Chinese, Japanese and Korean, whose letters begin with the bytes from
 * 0xe3 to 0xed, have one for two at the most. The later bytes of a letter, from 0x80 to 0xbf, begin none.
 */
const SIXTHS = new Uint8Array(256).fill(1).fill(0, 0x80, 0xc0).fill(2, 0xe3, 0xee);

/** What was counted so far. */
interface Texts {
  words: number;
  sixths: number;
}

function addTexts(texts: Texts, bytes: Buffer, { start, end }: Span): void {
  // The value itself may be a text.
  let isText = true;
  let quote = bytes.indexOf(QUOTE, start);
  while (quote !== -1 && quote < end) {
    const from = quote + 1;
    const found = endOfText(bytes, from);
    const to = found === -1 ? end : Math.min(found, end);
    if (bytes[pastBlanks(bytes, to + 1, end)] === COLON) isText = isNameOfText(bytes, from, to);
    else if (isText) addText(texts, bytes, { start: pastThoughts(bytes, from, to), end: to });
    quote = bytes.indexOf(QUOTE, to + 1);
  }
}

function isNameOfText(bytes: Buffer, from: number, to: number): boolean {
  return TEXTS.some((name) => name.length === to - from && name.equals(bytes.subarray(from, to)));
}

/** A pass over megabytes: what it does for each byte is what it costs. */
function addText(texts: Texts, bytes: Buffer, { start, end }: Span): void {
  let [words, sixths] = [0, 0];
  let before = BLANK;
  for (let at = start; at < end; at += 1) {
    let byte = bytes[at] ?? BLANK;
    if (byte === BACKSLASH) {
      at += 1;
      byte = bytes[at] ?? BLANK;
      if (ESCAPED_BLANKS.has(byte)) byte = BLANK;
      else if (byte === UNICODE) at += UNICODE_DIGITS;
    }
    // Blanks and lines of one sign are a token however long.
    if (byte === before) continue;
    if (before === BLANK) words += 1;
    sixths += SIXTHS[byte] ?? 0;
    before = byte;
  }
  texts.words += words;
  texts.sixths += sixths;
}

/**
 * The templates of DeepSeek R1 and Qwen 3 leave out of earlier answers all up to this mark (`content.split('</think>')[-1]`
 * in their `chat_template`); Go's JSON escapes its brackets.
 */
const ENDS_OF_THOUGHTS = ['</think>', '\\u003c/think\\u003e'];

/** Behind the thoughts that an answer may begin with. */
function pastThoughts(bytes: Buffer, from: number, end: number): number {
  const text = bytes.subarray(from, end);
  return ENDS_OF_THOUGHTS.reduce((start, mark) => {
    const at = text.lastIndexOf(mark);
    return at === -1 ? start : Math.max(start, from + at + mark.length);
  }, from);
}

function pastBlanks(bytes: Buffer, from: number, limit: number): number {
  let at = from;
  while (at < limit && (bytes[at] ?? 0) <= BLANK) at += 1;
  return at;
}
