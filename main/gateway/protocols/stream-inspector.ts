import { isObject, isHeavyJson, parseJson, writeJson, listOf } from '../../platform/json.ts';
import { ChunkRepair } from './chat/repair.ts';
import {
  describedError,
  errorIn,
  readErrorBody,
  type UpstreamError,
  wordsOnly,
} from './upstream-error.ts';
import {
  dataOf,
  errorFieldOf,
  eventsOf,
  eventWith,
  type Frames,
  framesOf,
  isNamedError,
} from './sse.ts';
import type { Span } from './json-edit.ts';

export type Sight =
  | { readonly kind: 'going' }
  /** The answer is whole: its last event is among those taken. `last`: the event with all of it; null without one. */
  | { readonly kind: 'done'; readonly last: Buffer | null }
  /** `[DONE]`, which is not among the events taken, without a finish reason for each choice. */
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'error'; readonly error: UpstreamError };

export interface WatchedFrames {
  /** What the caller may get: up to the end or the error. */
  readonly frames: Frames;
  readonly sight: Sight;
}

/** Finds the end and errors of a relayed stream, and puts right what a client's parser would throw on. */
export interface StreamWatch {
  /** `chunks`: of the events at the beginning, what was parsed and judged already; undefined for each that was not. */
  take(frames: Frames, chunks?: readonly unknown[]): WatchedFrames;
  /** Whether every choice has its finish reason: then the answer is whole, even without `[DONE]`. */
  readonly isFinished: boolean;
  /** Whether the events last taken, or later ones, may report the usage. */
  readonly mayTellUsage: boolean;
}

const DONE = Buffer.from('[DONE]');
const ERROR = Buffer.from('error');
const FINISH = Buffer.from('"finish_reason"');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_N = 0x6e;
const LETTER_D = 0x64;
const OPEN_BRACE = 0x7b;
const LF = 0x0a;
const CR = 0x0d;
/** Where the JSON begins, behind `data: `. */
const JSON_AT = 6;

export const GOING: Sight = { kind: 'going' };

/**
 * For a stream with `choices` choices. Most events are chunks of text that begin, end and have their text in the same
 * place as the one before; those are searched for three words and not parsed. A key cannot occur in the answer's
 * text, where its quotes would be escaped.
 */
export function createStreamWatch(choices: number): StreamWatch {
  return new Watch(choices);
}

class Watch implements StreamWatch {
  readonly #choices: number;
  readonly #repair = new ChunkRepair();
  isFinished = false;
  /** It comes with the finish reason or after it, so no other event is searched for it. */
  mayTellUsage = false;
  /** Of the last parsed chunk of text: its first four bytes, its last two, and where its text begins. */
  #head = 0;
  #tail = 0;
  #textAt = 0;
  /** The chunk itself; null if its text ends in an escape, its lines end in CR alone, or it tells the end. */
  #frame: ChunkFrame | null = null;

  constructor(choices: number) {
    this.#choices = choices;
  }

  take(frames: Frames, chunks: readonly unknown[] = []): WatchedFrames {
    return this.#isUsual(frames) ? { frames, sight: GOING } : this.#inspect(frames, chunks);
  }

  #isUsual({ bytes, ends }: Frames): boolean {
    let start = 0;
    let areSame = true;
    for (const end of ends) {
      if (!this.#isSame(bytes, start, end)) {
        if (!this.#isUsualText(bytes, start, end)) return false;
        areSame = false;
      }
      start = end;
    }
    if (areSame) return true;
    return !bytes.includes(ERROR) && !bytes.includes(DONE) && !hasFinishReason(bytes);
  }

  /** As the chunk before but for its text, in which no quote is escaped: to search it would take four times as long. */
  #isSame(bytes: Buffer, start: number, end: number): boolean {
    return this.#frame !== null && fitsFrame(this.#frame, bytes, start, end);
  }

  #isUsualText(bytes: Buffer, start: number, end: number): boolean {
    const last = jsonEnd(bytes, end);
    const textAt = start + this.#textAt;
    return (
      bytes[start] === LETTER_D &&
      last > textAt + 4 &&
      // Not the end of another string, or every event would be searched and none compared.
      bytes[textAt] === QUOTE &&
      (bytes[textAt - 1] === COLON || bytes[textAt - 1] === BLANK) &&
      headOf(bytes, start) === this.#head &&
      tailOf(bytes, last) === this.#tail
    );
  }

  #inspect(frames: Frames, chunks: readonly unknown[]): WatchedFrames {
    const events = eventsOf(frames);
    const taken: Buffer[] = [];
    let usual: Buffer | null = null;
    let areSame = true;
    let index = 0;
    for (const event of events) {
      const chunk = chunks[index];
      index += 1;
      const seen = isObject(chunk) ? this.#repaired(event, chunk) : this.#see(event);
      areSame &&= seen.event === event;
      if (seen.event !== null) taken.push(seen.event);
      if (seen.sight !== GOING) {
        const isWhole = areSame && index === events.length;
        return { frames: isWhole ? frames : framesOf(taken), sight: seen.sight };
      }
      if (seen.isUsual === true) usual = event;
    }
    if (usual !== null) this.#learn(usual);
    return { frames: areSame ? frames : framesOf(taken), sight: GOING };
  }

  #see(event: Buffer): SeenEvent {
    if (this.#isSame(event, 0, event.length)) return passing(event);
    const data = dataOf(event)?.trim();
    if (data === '[DONE]') return this.#isWhole() ? { event, sight: DONE_SEEN } : UNFINISHED_SEEN;
    if (data === undefined) {
      const outside = errorOutsideOfData(event);
      return outside === null ? passing(event) : failed(outside);
    }
    const chunk = parseJson(data);
    const error = isNamedError(event) ? describedError(chunk) : errorIn(chunk);
    if (error !== null) return failed(error);
    // Too heavy to be parsed here, it may still be a chunk; the caller's parser decides.
    if (!isObject(chunk)) return isHeavyJson(data) ? passing(event) : DROPPED;
    return this.#repaired(event, chunk);
  }

  #repaired(event: Buffer, chunk: Readonly<Record<string, unknown>>): SeenEvent {
    const before = this.#repair.finished;
    const repaired = this.#repair.take(chunk);
    const { finished } = this.#repair;
    this.mayTellUsage = finished > 0;
    this.isFinished = finished >= this.#choices;
    switch (repaired.kind) {
      case 'same':
        return { event, sight: GOING, isUsual: finished === before };
      case 'changed': {
        const json = writeJson(repaired.chunk);
        return json === null
          ? failed(wordsOnly('an event nested too deep'))
          : passing(eventWith(event, json));
      }
      case 'dropped':
        return DROPPED;
      case 'broken':
        return failed(wordsOnly(repaired.detail));
    }
  }

  /** A list of prompts may be too long to be counted: then only `[DONE]` tells that all of them are finished. */
  #isWhole(): boolean {
    return this.isFinished || (this.#choices === Infinity && this.mayTellUsage);
  }

  #learn(event: Buffer): void {
    const last = jsonEnd(event, event.length);
    const textAt = textStart(event);
    if (textAt === -1 || last <= textAt + 4) return;
    this.#head = headOf(event, 0);
    this.#tail = tailOf(event, last);
    this.#textAt = textAt;
    const text = { start: textAt + 1, end: event.indexOf(QUOTE, textAt + 1) };
    this.#frame = mayRepeat(event, text) ? frameAround(event, text) : null;
  }
}

interface SeenEvent {
  /** What the caller gets of it, if anything. */
  readonly event: Buffer | null;
  /** Whether it is a chunk like which others may follow. */
  readonly isUsual?: boolean;
  readonly sight: Sight;
}

const passing = (event: Buffer): SeenEvent => ({ event, sight: GOING });
const failed = (error: UpstreamError): SeenEvent => ({
  event: null,
  sight: { kind: 'error', error },
});
const DROPPED: SeenEvent = { event: null, sight: GOING };
const DONE_SEEN: Sight = { kind: 'done', last: null };
const UNFINISHED_SEEN: SeenEvent = { event: null, sight: { kind: 'unfinished' } };

/**
 * llama.cpp up to 2025 sends errors in a field of their own (ggml-org/llama.cpp#16109), llama-swap as the JSON of a
 * refusal once its stream has begun.
 */
export function errorOutsideOfData(event: Buffer): UpstreamError | null {
  const text = errorFieldOf(event);
  if (text !== null) return readErrorBody(Buffer.from(text));
  return event[0] === OPEN_BRACE ? errorIn(parseJson(event.toString())) : null;
}

/** End of the event's last line. */
function jsonEnd(bytes: Buffer, end: number): number {
  return bytes[end - 2] === CR ? end - 4 : end - 2;
}

function headOf(bytes: Buffer, start: number): number {
  return bytes.readUInt32LE(start + JSON_AT);
}

function tailOf(bytes: Buffer, end: number): number {
  return bytes.readUInt16LE(end - 2);
}

/** Where the quote stands with which the text of a chunk begins; -1 without text. */
function textStart(event: Buffer): number {
  for (const { quoted } of TEXT_NAMES) {
    const at = event.indexOf(quoted);
    const value = at === -1 ? -1 : valueAt(event, at + quoted.length);
    if (value !== -1 && event[value] === QUOTE) return value;
  }
  return -1;
}

/** Whether there is a `"finish_reason"` other than `null`. */
function hasFinishReason(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(FINISH); at !== -1; at = bytes.indexOf(FINISH, at + FINISH.length)) {
    if (bytes[valueAt(bytes, at + FINISH.length)] !== LETTER_N) return true;
  }
  return false;
}

/** The text of a chunk, and the field of its delta that it is in. */
export interface ChunkText {
  readonly key: string;
  readonly text: string;
}

/**
 * Most chunks of a chat completion differ from the one before in their text alone. Such a chunk is compared with it, byte
 * by byte, and not parsed: whatever else it says has been heard already.
 */
interface UsualText {
  /** The text of an event that is otherwise as the last one learnt; null for any other. */
  of(event: Buffer): ChunkText | null;
  /** To be called with each event that was parsed. */
  learn(event: Buffer, chunk: unknown): void;
}

/** An event without its text, which lies between the two quotes of `start` and `end`. */
interface ChunkFrame extends Span {
  readonly bytes: Buffer;
}

/** The names of a chunk's texts, in quotes. */
const TEXT_NAMES = ['content', 'reasoning_content', 'reasoning'].map((key) => ({
  key,
  quoted: Buffer.from(`"${key}"`),
}));
/** A chunk of text has some hundred bytes. */
const MAX_USUAL_BYTES = 4096;
const COLON = 0x3a;
const BLANK = 0x20;

/** Null for an event that is too long to be usual. */
function frameAround(event: Buffer, { start, end }: Span): ChunkFrame | null {
  if (event.length > MAX_USUAL_BYTES) return null;
  // A copy: the event is a part of what came with it, all of which would stay in memory.
  return { bytes: Buffer.from(event), start, end };
}

/** As much as `data: {"`, and as the name before a text. */
const BEGIN_BYTES = 8;
const NAME_BYTES = 12;

/** Whether events may be compared with this one, whose `text` is whole: an end would stand behind the text. */
function mayRepeat(event: Buffer, { start, end }: Span): boolean {
  const isWhole = event[end - 1] !== BACKSLASH && event.at(-1) === LF;
  const finish = event.indexOf(FINISH);
  return isWhole && start >= BEGIN_BYTES + NAME_BYTES && (finish === -1 || finish > end);
}

/**
 * Whether the bytes between `from` and `to` are an event that has its text in the same place as the frame, and is the same
 * behind it. Before it stand ids and times, which may be others: to tell an error or an end there it would have to be
 * longer or shorter. Byte by byte: two calls of `compare` take a twenty-fifth of the whole cost of an event.
 */
function fitsFrame(frame: ChunkFrame, bytes: Buffer, from: number, to: number): boolean {
  const { bytes: framed, start, end } = frame;
  const textEnd = to - (framed.length - end);
  const isPlaced =
    from + start <= textEnd &&
    isEqualAt(framed, 0, BEGIN_BYTES, bytes, from) &&
    isEqualAt(framed, start - NAME_BYTES, start, bytes, from + start - NAME_BYTES) &&
    isEqualAt(framed, end, framed.length, bytes, textEnd);
  if (!isPlaced || bytes[textEnd - 1] === BACKSLASH) return false;
  // A loop, as a token has a few bytes: to call `indexOf` costs more.
  for (let at = from + start; at < textEnd; at += 1) if (bytes[at] === QUOTE) return false;
  return true;
}

function isEqualAt(a: Buffer, start: number, end: number, b: Buffer, from: number): boolean {
  for (let at = start, other = from; at < end; at += 1, other += 1)
    if (a[at] !== b[other]) return false;
  return true;
}

/** Where the text ends of an event, the bytes between `from` and `to`, that is otherwise as the frame; -1 for any other. */
function textEndIn(frame: ChunkFrame, bytes: Buffer, from: number, to: number): number {
  const { bytes: framed, start, end } = frame;
  const textEnd = to - (framed.length - end);
  const isFramed =
    textEnd >= from + start &&
    framed.compare(bytes, from, from + start, 0, start) === 0 &&
    framed.compare(bytes, textEnd, to, end) === 0;
  return isFramed ? textEnd : -1;
}

/** The first byte of the value of the name that ends at `from`; -1 where no value follows. */
function valueAt(bytes: Buffer, from: number): number {
  const colon = skipBlanks(bytes, from);
  return bytes[colon] === COLON ? skipBlanks(bytes, colon + 1) : -1;
}

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === BLANK) at += 1;
  return at;
}

export function createUsualText(): UsualText {
  let known: { readonly key: string; readonly frame: ChunkFrame } | null = null;
  return {
    of(event) {
      if (known === null) return null;
      const { key, frame } = known;
      const end = textEndIn(frame, event, 0, event.length);
      if (end === -1) return null;
      const text = textBetween(event, frame.start, end);
      return typeof text === 'string' && text !== '' ? { key, text } : null;
    },
    learn(event, chunk) {
      known = knownFrom(event, chunk);
    },
  };
}

/** Undefined where the text ends earlier, and the rest only looks like its end. */
function textBetween(event: Buffer, start: number, end: number): unknown {
  const text = event.toString('utf8', start, end);
  for (let at = start; at < end; at += 1) {
    const byte = event[at] ?? 0;
    if (byte === QUOTE || byte === BACKSLASH || byte < BLANK) return parseJson(`"${text}"`);
  }
  return text;
}

/** Null for an event in which more than the text may grow. */
function knownFrom(
  event: Buffer,
  chunk: unknown,
): { readonly key: string; readonly frame: ChunkFrame } | null {
  if (!isObject(chunk)) return null;
  const [choice, second] = listOf(chunk['choices']);
  const delta = isObject(choice) ? choice['delta'] : null;
  if (!isObject(delta) || second !== undefined) return null;
  const [said, more] = Object.entries(delta).filter(
    ([name, value]) => name !== 'role' && value !== null,
  );
  if (said === undefined || more !== undefined) return null;
  const name = TEXT_NAMES.find(({ key }) => key === said[0]);
  const span = name === undefined ? null : textAfter(event, name.quoted);
  if (name === undefined || span === null) return null;
  const isIt = parseJson(`"${event.toString('utf8', span.start, span.end)}"`) === said[1];
  const frame = isIt ? frameAround(event, span) : null;
  return frame === null ? null : { key: name.key, frame };
}

/** The only text of that name; null if there is none, or another that is called so. */
function textAfter(event: Buffer, name: Buffer): Span | null {
  const at = event.indexOf(name);
  if (at === -1 || event.includes(name, at + name.length)) return null;
  const quote = valueAt(event, at + name.length);
  if (event[quote] !== QUOTE) return null;
  for (let end = quote + 1; end < event.length; end += 1) {
    if (event[end] === BACKSLASH) end += 1;
    else if (event[end] === QUOTE) return { start: quote + 1, end };
  }
  return null;
}
