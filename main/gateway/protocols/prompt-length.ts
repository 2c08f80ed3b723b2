import type { ChatRequest } from './chat-request.ts';
import { endOfText, type JsonBody, type Span } from './json-edit.ts';

/*
 * The fewest tokens that a prompt can have, whatever the model: no tokenizer joins two words that a blank parts, so
 * each is a token at least (github.com/openai/tiktoken, tiktoken_ext/openai_public.py, and the `pre_tokenizer` of the
 * models at huggingface.co split so; SentencePiece does by `split_by_whitespace`). What a chat template may leave out
 * does not count: names of members, thoughts of earlier turns, calls of tools.
 */

/** What a look at the texts of a prompt tells of its length. */
export interface PromptLength {
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
