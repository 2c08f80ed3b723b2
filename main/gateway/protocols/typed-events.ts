import { isObject, memberOf, parseJson } from '../../platform/json.ts';
import { failedWith, type Substance } from './chat/chunks.ts';
import { describedError, errorIn, type UpstreamError } from './upstream-error.ts';
import { bodyOf, smallValueOf } from './json-edit.ts';
import { dataOf } from './sse.ts';
import {
  DROPPED,
  type EventView,
  failing,
  GOING,
  PASSED,
  type StreamWatch,
  UNFINISHED_SEEN,
  watched,
} from './stream-inspector.ts';

/** The types of the events that end a stream, of protocols whose events have a `type`. */
export interface TypedEnds {
  readonly done: readonly string[];
  readonly failed: readonly string[];
}

/** Puts right what clients stumble over in the events of one answer. */
export interface EventRepair {
  /** What is in each event that it reads, apart from the types of the ends. */
  readonly words: readonly string[];
  /** The event itself where nothing is wrong with it; null where nothing is left of it. */
  take(event: Buffer, type: string): Buffer | null;
  /** Whether the answer is whole if its last event comes now. */
  isWhole(): boolean;
}

/** For events with a `type` in their data. An event is parsed only if it contains the name of one that matters. */
export function createTypedWatch({ done, failed }: TypedEnds, repair: EventRepair): StreamWatch {
  const words = [...done, ...failed, ...repair.words].map((type) => Buffer.from(type));

  function see(event: Buffer): EventView {
    if (!isReadable(event)) return unreadable(event);
    const type = words.some((word) => event.includes(word)) ? typeOf(event) : null;
    if (type === null) return PASSED;
    if (failed.includes(type)) return failing(errorOfTyped(parseJson(dataOf(event) ?? '')));
    const right = repair.take(event, type);
    if (!done.includes(type)) return { event: right, sight: GOING };
    return repair.isWhole()
      ? { event: right, sight: { kind: 'done', last: right } }
      : UNFINISHED_SEEN;
  }

  return {
    take: (frames) => watched(frames, see),
    // Without its last event an answer is not whole: it carries the result.
    isFinished: false,
    mayTellUsage: true,
  };
}

/**
 * A client's parser would throw on an event that is no JSON object. Clients read nothing behind a `[DONE]`, and where
 * it stands before the last event, that will not come.
 */
const unreadable = (event: Buffer): EventView =>
  dataOf(event)?.trim() === '[DONE]' ? UNFINISHED_SEEN : DROPPED;

/** Responses tells an error flat, or within the response that failed. */
function errorOfTyped(value: unknown): UpstreamError {
  return errorIn(value) ?? errorIn(memberOf(value, 'response')) ?? describedError(value);
}

const BEGIN = Buffer.from('\ndata: {');
const CLOSE_BRACE = 0x7d;

/** By the braces around the data, as these events are objects; without data there is nothing to be parsed. */
function isReadable(event: Buffer): boolean {
  // Most have a name, and their data in one line.
  if (event.at(-3) === CLOSE_BRACE && event.includes(BEGIN)) return true;
  const data = dataOf(event)?.trim() ?? '';
  return data === '' || (data.startsWith('{') && data.endsWith('}'));
}

/** The `type` of an event's data, read without parsing the rest: the last event holds the whole answer. */
function typeOf(event: Buffer): string | null {
  const type = smallValueOf(bodyOf(Buffer.from(dataOf(event) ?? '')), 'type');
  return typeof type === 'string' ? type : null;
}

export function judgeTyped(
  value: unknown,
  { done, failed }: TypedEnds,
  hasContent: (type: string, value: Readonly<Record<string, unknown>>) => boolean,
): Substance {
  const error = errorIn(value);
  if (error !== null) return { kind: 'error', error };
  if (!isObject(value)) return failedWith('not a JSON object');
  const { type } = value;
  if (typeof type !== 'string') return failedWith('an event of no known type');
  if (failed.includes(type)) return { kind: 'error', error: errorOfTyped(value) };
  return {
    kind: hasContent(type, value) ? 'content' : 'nothing',
    finish: done.includes(type) ? 'stop' : null,
    outputTokens: null,
  };
}
