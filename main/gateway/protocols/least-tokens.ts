import type { Member, Span } from './json-members.ts';

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

/** Members that hold the prompt. */
const PROMPTS: ReadonlySet<string> = new Set([
  'messages',
  'system',
  'prompt',
  'input',
  'instructions',
]);

/** Names of the text in them. */
const TEXTS: readonly Buffer[] = ['content', 'text', 'output'].map((name) => Buffer.from(name));

/** A margin, for what nobody thought of. */
const SHARE = 0.9;

/** The body stays the same, and is asked about for each machine. */
const known = new WeakMap<Buffer, PromptLength>();

export function lengthOf(bytes: Buffer, members: readonly Member[]): PromptLength {
  const before = known.get(bytes);
  if (before !== undefined) return before;
  let [words, usualTokens] = [0, 0];
  for (const member of members) {
    // A list of prompts is several of them.
    const isList = member.key === 'prompt' && member.last !== null;
    if (!PROMPTS.has(member.key) || isList) continue;
    const found = textsIn(bytes, member);
    words += found.words;
    usualTokens += found.usualTokens;
  }
  const length = {
    leastTokens: Math.floor(SHARE * words),
    usualTokens: Math.floor(usualTokens),
  };
  known.set(bytes, length);
  return length;
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
 * Tokens for each character: English has one for 4.5 with the largest vocabularies, languages of other letters more.
 * Chinese, Japanese and Korean, whose letters begin with these bytes, have one for two at the most.
 */
const USUAL = 1 / 6;
const USUAL_OF_HAN = 1 / 3;
const FIRST_HAN = 0xe3;
const LAST_HAN = 0xed;
/** The later bytes of a letter. */
const isWithin = (byte: number) => byte >= 0x80 && byte < 0xc0;

interface Texts {
  readonly words: number;
  readonly usualTokens: number;
}

/** The texts in a value. */
function textsIn(bytes: Buffer, { start, end }: Span): Texts {
  let [words, usualTokens] = [0, 0];
  // The value itself may be a text.
  let isText = true;
  let at = start;
  while (at < end) {
    const quote = bytes.indexOf(QUOTE, at);
    if (quote === -1 || quote >= end) break;
    const told = textAt(bytes, quote + 1, end);
    const next = pastBlanks(bytes, told.end + 1, end);
    if (bytes[next] === COLON) isText = isNameOfText(bytes, quote + 1, told.end);
    else if (isText) {
      words += told.words;
      usualTokens += told.usualTokens;
    }
    at = told.end + 1;
  }
  return { words, usualTokens };
}

function isNameOfText(bytes: Buffer, from: number, to: number): boolean {
  return TEXTS.some((name) => name.length === to - from && name.equals(bytes.subarray(from, to)));
}

function textAt(bytes: Buffer, from: number, limit: number): Texts & { readonly end: number } {
  const end = endOfText(bytes, from, limit);
  let [words, usualTokens] = [0, 0];
  let before = BLANK;
  for (let at = pastThoughts(bytes, from, end); at < end; at += 1) {
    let byte = bytes[at] ?? BLANK;
    if (byte === BACKSLASH) {
      at += 1;
      byte = bytes[at] ?? BLANK;
      if (ESCAPED_BLANKS.has(byte)) byte = BLANK;
      else if (byte === UNICODE) at += UNICODE_DIGITS;
    }
    if (byte !== BLANK && before === BLANK) words += 1;
    // Blanks and lines of one sign are a token however long.
    if (byte !== before && !isWithin(byte))
      usualTokens += byte >= FIRST_HAN && byte <= LAST_HAN ? USUAL_OF_HAN : USUAL;
    before = byte;
  }
  return { words, usualTokens, end };
}

function endOfText(bytes: Buffer, from: number, limit: number): number {
  let at = from;
  while (at < limit && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return Math.min(at, limit);
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
