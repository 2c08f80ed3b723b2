import {
  isObject,
  isHeavyJson,
  parseJson,
  writeJson,
  listOf,
  memberOf,
} from '../../platform/json.ts';
import { areSame, ChunkRepair } from './chat/chunks.ts';
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
import { endOfText, type Span } from './json-edit.ts';

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
  /** Null where all of them pass as they are and the stream goes on, as most do. */
  take(frames: Frames): WatchedFrames | null;
  /** Whether every choice has its finish reason: then the answer is whole, even without `[DONE]`. */
  readonly isFinished: boolean;
  /** Whether the events last taken, or later ones, may report the usage. */
  readonly mayTellUsage: boolean;
}

const FINISH = Buffer.from('"finish_reason"');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const COLON = 0x3a;
const BLANK = 0x20;
const LF = 0x0a;

export const GOING: Sight = { kind: 'going' };

/** For a stream with `choices` choices. Most events are chunks that differ from the one before in their text alone; others are parsed. */
export class ChunkWatch implements StreamWatch {
  readonly #choices: number;
  readonly #repair = new ChunkRepair();
  isFinished = false;
  /** It comes with the finish reason or after it, so no other event is searched for it. */
  mayTellUsage = false;
  readonly #usual = new UsualText();

  constructor(choices: number) {
    this.#choices = choices;
  }

  take(frames: Frames): WatchedFrames | null {
    return watched(frames, this.#see);
  }

  readonly #see = (event: Buffer): EventView => {
    if (this.#usual.is(event)) return PASSED;
    const data = dataOf(event)?.trim();
    if (data === '[DONE]') return this.#isWhole() ? { event, sight: DONE_SEEN } : UNFINISHED_SEEN;
    if (data === undefined) {
      const outside = errorOutsideOfData(event);
      return outside === null ? PASSED : failing(outside);
    }
    const chunk = parseJson(data);
    const error = isNamedError(event) ? describedError(chunk) : errorIn(chunk);
    if (error !== null) return failing(error);
    // Too heavy to be parsed here, it may still be a chunk; the caller's parser decides.
    if (!isObject(chunk)) return isHeavyJson(data) ? PASSED : DROPPED;
    return this.#repaired(event, chunk);
  };

  #repaired(event: Buffer, chunk: Readonly<Record<string, unknown>>): EventView {
    const before = this.#repair.finished;
    const repaired = this.#repair.take(chunk);
    const { finished } = this.#repair;
    this.mayTellUsage = finished > 0;
    this.isFinished = finished >= this.#choices;
    if (repaired === null) return DROPPED;
    if (typeof repaired === 'string') return failing(wordsOnly(repaired));
    if (repaired === chunk) {
      if (finished === before) this.#usual.learn(event, chunk);
      return PASSED;
    }
    const json = writeJson(repaired);
    return json === null
      ? failing(wordsOnly('an event nested too deep'))
      : { event: eventWith(event, json), sight: GOING };
  }

  /** A list of prompts may be too long to be counted: then only `[DONE]` tells that all of them are finished. */
  #isWhole(): boolean {
    return this.isFinished || (this.#choices === Infinity && this.mayTellUsage);
  }
}

export interface EventView {
  /** What the caller gets in its place, if anything; left out for the event itself. */
  readonly event?: Buffer | null;
  readonly sight: Sight;
}

/** Each event as it is seen, up to the end. */
export function watched(frames: Frames, see: (event: Buffer) => EventView): WatchedFrames | null {
  // Most reads bring one.
  const only = frames.ends.length === 1 ? see(frames.bytes) : null;
  if (only === PASSED) return null;
  const events = eventsOf(frames);
  const taken: Buffer[] = [];
  let sight = GOING;
  for (const event of events) {
    const seen = only ?? see(event);
    if (seen.event !== null) taken.push(seen.event ?? event);
    ({ sight } = seen);
    if (sight !== GOING) break;
  }
  return { frames: areSame(taken, events) ? frames : framesOf(taken), sight };
}

export const PASSED: EventView = { sight: GOING };
export const failing = (error: UpstreamError): EventView => ({
  event: null,
  sight: { kind: 'error', error },
});
export const DROPPED: EventView = { event: null, sight: GOING };
const DONE_SEEN: Sight = { kind: 'done', last: null };
export const UNFINISHED_SEEN: EventView = { event: null, sight: { kind: 'unfinished' } };

/**
 * llama.cpp up to 2025 sends errors in a field of their own (ggml-org/llama.cpp#16109), llama-swap as the JSON of a
 * refusal once its stream has begun.
 */
export function errorOutsideOfData(event: Buffer): UpstreamError | null {
  const text = errorFieldOf(event);
  if (text !== null) return readErrorBody(Buffer.from(text));
  return event[0] === OPEN_BRACE ? errorIn(parseJson(event.toString())) : null;
}

/** The text of a chunk, and the field of its delta that it is in. */
export interface ChunkText {
  readonly key: string;
  readonly text: string;
}

/** A chunk, and where its text lies, between its quotes. Whatever else it says has been heard already. */
interface ChunkFrame extends Span {
  readonly key: string;
  readonly bytes: Buffer;
}

/** The names of a chunk's texts, in quotes. */
const TEXT_NAMES = ['content', 'reasoning_content', 'reasoning'].map((key) => ({
  key,
  quoted: Buffer.from(`"${key}"`),
}));
/** A chunk of text has some hundred bytes. */
const MAX_USUAL_BYTES = 4096;
/** As much as `data: {"`, and as the name before a text. */
const BEGIN_BYTES = 8;
const NAME_BYTES = 12;

/** Null for a chunk in which more than the text may grow, or of which the end does not stand behind the text. */
function frameOf(event: Buffer, chunk: unknown): ChunkFrame | null {
  const [choice, second] = listOf(memberOf(chunk, 'choices'));
  const delta = memberOf(choice, 'delta');
  if (!isObject(delta) || second !== undefined || event.length > MAX_USUAL_BYTES) return null;
  const [said, more] = Object.keys(delta).filter((key) => key !== 'role' && delta[key] !== null);
  const name = TEXT_NAMES.find(({ key }) => key === said);
  const span = name === undefined || more !== undefined ? null : textAfter(event, name.quoted);
  if (name === undefined || span === null || event.at(-1) !== LF) return null;
  const { start, end } = span;
  const finish = event.indexOf(FINISH);
  const isBehind = start >= BEGIN_BYTES + NAME_BYTES && (finish === -1 || finish > end);
  if (!isBehind || textBetween(event, start, end) !== delta[name.key]) return null;
  // A copy: the event is a part of what came with it, all of which would stay in memory.
  return { key: name.key, bytes: Buffer.from(event), start, end };
}

/** The only text of that name; null if there is none, or another that is called so. */
function textAfter(event: Buffer, name: Buffer): Span | null {
  const at = event.indexOf(name);
  if (at === -1 || event.includes(name, at + name.length)) return null;
  let quote = at + name.length;
  while (event[quote] === BLANK || event[quote] === COLON) quote += 1;
  if (event[quote] !== QUOTE) return null;
  const end = endOfText(event, quote + 1);
  return end === -1 ? null : { start: quote + 1, end };
}

/** Undefined for what is no text. */
const textBetween = (event: Buffer, start: number, end: number): unknown =>
  parseJson(`"${event.toString('utf8', start, end)}"`);

/**
 * Where the text ends if the event has it in the same place as the frame, without a quote in it, and is the same behind
 * it; else -1. Before it stand ids and times, which may be others: to tell an error or an end there it would have to be
 * longer or shorter. Byte by byte: two calls of `compare` take a twenty-fifth of the whole cost of an event.
 */
function textEndIn({ bytes: framed, start, end }: ChunkFrame, event: Buffer): number {
  const textEnd = event.length - (framed.length - end);
  const isPlaced =
    start <= textEnd &&
    isEqualAt(framed, 0, BEGIN_BYTES, event, 0) &&
    isEqualAt(framed, start - NAME_BYTES, start, event, start - NAME_BYTES) &&
    isEqualAt(framed, end, framed.length, event, textEnd);
  if (!isPlaced || event[textEnd - 1] === BACKSLASH) return -1;
  // A loop, as a token has a few bytes: to call `indexOf` costs more.
  for (let at = start; at < textEnd; at += 1) if (event[at] === QUOTE) return -1;
  return textEnd;
}

function isEqualAt(a: Buffer, start: number, end: number, b: Buffer, from: number): boolean {
  for (let at = start, other = from; at < end; at += 1, other += 1)
    if (a[at] !== b[other]) return false;
  return true;
}

/** The texts of events that are otherwise as the last one learnt, without parsing them. */
export class UsualText {
  #frame: ChunkFrame | null = null;

  is(event: Buffer): boolean {
    return this.#frame !== null && textEndIn(this.#frame, event) !== -1;
  }

  /** Null for an event that is to be parsed. */
  of(event: Buffer): ChunkText | null {
    const frame = this.#frame;
    const end = frame === null ? -1 : textEndIn(frame, event);
    if (frame === null || end === -1) return null;
    const text = textBetween(event, frame.start, end);
    return typeof text === 'string' && text !== '' ? { key: frame.key, text } : null;
  }

  /** To be called with each event that was parsed. */
  learn(event: Buffer, chunk: unknown): void {
    this.#frame = frameOf(event, chunk);
  }
}
