import { isObject } from '#shared/objects.ts';
import { isHeavyJson, parseJson } from '../../platform/json.ts';
import { errorMessage } from './completion.ts';
import { dataOf, eventsOf, type Frames, framesOf, isNamedError } from './sse.ts';

export type Sight =
  | { readonly kind: 'going' }
  /** `[DONE]` ends at byte `end`; nothing behind it belongs to the answer. */
  | { readonly kind: 'done'; readonly end: number }
  /** An error event begins at byte `end`. */
  | { readonly kind: 'error'; readonly end: number };

/** Finds the end and errors of a relayed stream without parsing it. */
export interface StreamWatch {
  /** Drops events that are not chunks, on which a client's parser would throw. */
  readable(frames: Frames): Frames;
  see(frames: Frames): Sight;
  /** Whether every choice has its finish reason: then the answer is whole, even without `[DONE]`. */
  finished(): boolean;
  /** Whether the events last seen, or later ones, may report the usage. */
  mayTellUsage(): boolean;
}

const DONE = Buffer.from('[DONE]');
const ERROR = Buffer.from('error');
const ERROR_KEY = Buffer.from('"error"');
const FINISH = Buffer.from('"finish_reason"');
const COLON = 0x3a;
const LETTER_N = 0x6e;
const LETTER_D = 0x64;
const CR = 0x0d;
/** Where the JSON begins, behind `data: `. */
const JSON_AT = 6;

/**
 * For a stream with `choices` choices. Searches bytes: a key cannot occur in the answer's text, where its quotes
 * would be escaped. An event is inspected only if it contains `error` or `[DONE]`, and parsed only if it contains
 * `"error"` or begins or ends unlike the chunks before it.
 */
export function createStreamWatch(choices: number): StreamWatch {
  return new Watch(choices);
}

const GOING: Sight = { kind: 'going' };

class Watch implements StreamWatch {
  readonly #choices: number;
  #finishes = 0;
  /** The first four bytes of the last parsed chunk, and its last two. */
  #head = 0;
  #tail = 0;

  constructor(choices: number) {
    this.#choices = choices;
  }

  readable(frames: Frames): Frames {
    const { bytes, ends } = frames;
    let start = 0;
    for (const end of ends) {
      if (!this.#isUsual(bytes, start, end) && !this.#isReadable(bytes.subarray(start, end))) {
        return framesOf(eventsOf(frames).filter((event) => this.#isReadable(event)));
      }
      start = end;
    }
    return frames;
  }

  /** Most chunks of a stream begin with the same key and end with the same brackets. */
  #isUsual(bytes: Buffer, start: number, end: number): boolean {
    const last = jsonEnd(bytes, end);
    return (
      bytes[start] === LETTER_D &&
      last - start > JSON_AT + 4 &&
      headOf(bytes, start) === this.#head &&
      tailOf(bytes, last) === this.#tail
    );
  }

  #isReadable(event: Buffer): boolean {
    const data = dataOf(event)?.trim();
    if (data === undefined || data === '[DONE]' || isNamedError(event)) return true;
    // Too heavy to be parsed here, it may still be a chunk; the caller's parser decides.
    if (!isObject(parseJson(data))) return isHeavyJson(data);
    const last = jsonEnd(event, event.length);
    if (last > JSON_AT + 4) {
      this.#head = headOf(event, 0);
      this.#tail = tailOf(event, last);
    }
    return true;
  }

  see(frames: Frames): Sight {
    const { bytes } = frames;
    this.#finishes += countFinishes(bytes);
    const isSuspicious = bytes.includes(ERROR) || bytes.includes(DONE);
    return isSuspicious ? inspect(frames) : GOING;
  }

  finished(): boolean {
    return this.#finishes >= this.#choices;
  }

  /** It comes with the finish reason or after it, so no other event is searched for it. */
  mayTellUsage(): boolean {
    return this.#finishes > 0;
  }
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

/** Counts `"finish_reason":` followed by anything but `null`. */
function countFinishes(bytes: Buffer): number {
  let count = 0;
  let at = bytes.indexOf(FINISH);
  while (at !== -1) {
    const colon = skipBlanks(bytes, at + FINISH.length);
    if (bytes[colon] === COLON && bytes[skipBlanks(bytes, colon + 1)] !== LETTER_N) count += 1;
    at = bytes.indexOf(FINISH, at + FINISH.length);
  }
  return count;
}

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x20) at += 1;
  return at;
}

/** Inspects only the events that contain one of the two words. */
function inspect({ bytes, ends }: Frames): Sight {
  let index = 0;
  let nextError = -1;
  let nextDone = -1;
  for (let at = 0; at < bytes.length; at = ends[index++] ?? bytes.length) {
    if (nextError < at) nextError = indexOrEnd(bytes, ERROR, at);
    if (nextDone < at) nextDone = indexOrEnd(bytes, DONE, at);
    const word = Math.min(nextError, nextDone);
    if (word === bytes.length) return GOING;
    while ((ends[index] ?? bytes.length) <= word) index += 1;
    const start = ends[index - 1] ?? 0;
    const event = bytes.subarray(start, ends[index]);
    if (dataOf(event)?.trim() === '[DONE]') {
      return { kind: 'done', end: ends[index] ?? bytes.length };
    }
    if (isError(event)) return { kind: 'error', end: start };
  }
  return GOING;
}

function indexOrEnd(bytes: Buffer, word: Buffer, from: number): number {
  const at = bytes.indexOf(word, from);
  return at === -1 ? bytes.length : at;
}

function isError(event: Buffer): boolean {
  if (isNamedError(event)) return true;
  if (!event.includes(ERROR_KEY)) return false;
  const chunk = parseJson(dataOf(event) ?? '');
  return isObject(chunk) && errorMessage(chunk) !== null;
}
