import type { Member, Span } from './json-members.ts';

/*
 * The fewest tokens that a prompt can have, whatever the model: no tokenizer joins two words that a blank parts, so
 * each is a token at least (github.com/openai/tiktoken, tiktoken_ext/openai_public.py, and the `pre_tokenizer` of the
 * models at huggingface.co split so; SentencePiece does by `split_by_whitespace`). What a chat template may leave out
 * does not count: names of members, thoughts of earlier turns, calls of tools.
 */

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

export function leastTokens(bytes: Buffer, members: readonly Member[]): number {
  let words = 0;
  for (const member of members) {
    // A list of prompts is several of them.
    const isList = member.key === 'prompt' && member.last !== null;
    if (PROMPTS.has(member.key) && !isList) words += wordsIn(bytes, member);
  }
  return Math.floor(SHARE * words);
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const BLANK = 0x20;
/** `\n`, `\t`, `\r`, `\f` and `\b` as JSON writes them. */
const ESCAPED_BLANKS: ReadonlySet<number> = new Set(Buffer.from('ntrfb'));

/** The words of the texts in a value. */
function wordsIn(bytes: Buffer, { start, end }: Span): number {
  let words = 0;
  // The value itself may be a text.
  let isText = true;
  let at = start;
  while (at < end) {
    const quote = bytes.indexOf(QUOTE, at);
    if (quote === -1 || quote >= end) break;
    const told = textAt(bytes, quote + 1, end);
    const next = pastBlanks(bytes, told.end + 1, end);
    if (bytes[next] === COLON) isText = isNameOfText(bytes, quote + 1, told.end);
    else if (isText) words += told.words;
    at = told.end + 1;
  }
  return words;
}

function isNameOfText(bytes: Buffer, from: number, to: number): boolean {
  return TEXTS.some((name) => name.length === to - from && name.equals(bytes.subarray(from, to)));
}

function textAt(
  bytes: Buffer,
  from: number,
  limit: number,
): { readonly words: number; readonly end: number } {
  let words = 0;
  let isInWord = false;
  let at = from;
  for (; at < limit; at += 1) {
    const byte = bytes[at] ?? QUOTE;
    if (byte === QUOTE) break;
    let isBlank = byte === BLANK;
    if (byte === BACKSLASH) {
      at += 1;
      isBlank = ESCAPED_BLANKS.has(bytes[at] ?? 0);
    }
    if (!isBlank && !isInWord) words += 1;
    isInWord = !isBlank;
  }
  return { words, end: at };
}

function pastBlanks(bytes: Buffer, from: number, limit: number): number {
  let at = from;
  while (at < limit && (bytes[at] ?? 0) <= BLANK) at += 1;
  return at;
}
