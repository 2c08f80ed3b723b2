import { isObject } from '#shared/objects.ts';
import { errorMessage, parseJson } from './completion.ts';
import { dataOf, eventsOf, type Frames, isNamedError } from './sse.ts';

/** What whole events of a committed stream show. */
export type Sight =
  | { readonly kind: 'going' }
  /** `[DONE]` is among them; nothing after byte `end` belongs to the answer. */
  | { readonly kind: 'done'; readonly end: number }
  /** An error event begins at byte `end`. */
  | { readonly kind: 'error'; readonly end: number };

/** Watches a stream go by without parsing it. */
export interface StreamWatch {
  see(frames: Frames): Sight;
  /** Every choice has its finish reason: the answer is whole, with or without `[DONE]`. */
  finished(): boolean;
}

const DONE = Buffer.from('[DONE]');
const ERROR = Buffer.from('error');
const ERROR_KEY = Buffer.from('"error"');
const FINISH = Buffer.from('"finish_reason"');
const COLON = 0x3a;
const LETTER_N = 0x6e;

/**
 * Makes a watch over a stream with `choices` choices. Only bytes are searched: a key cannot hide in
 * the answer's text, where its quotes would be escaped. An event is looked into only where `error` or
 * `[DONE]` stands in it, and parsed only where `"error"` does.
 */
export function createStreamWatch(choices: number): StreamWatch {
  return new Watch(choices);
}

const GOING: Sight = { kind: 'going' };

class Watch implements StreamWatch {
  readonly #choices: number;
  #finishes = 0;

  constructor(choices: number) {
    this.#choices = choices;
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

function inspect(frames: Frames): Sight {
  for (const [index, event] of eventsOf(frames).entries()) {
    if (dataOf(event)?.trim() === '[DONE]') return { kind: 'done', end: frames.ends[index] ?? 0 };
    if (isError(event)) return { kind: 'error', end: frames.ends[index - 1] ?? 0 };
  }
  return GOING;
}

function isError(event: Buffer): boolean {
  if (isNamedError(event)) return true;
  if (!event.includes(ERROR_KEY)) return false;
  const chunk = parseJson(dataOf(event) ?? '');
  return isObject(chunk) && errorMessage(chunk) !== null;
}
