import { isObject, memberOf, parseJson } from '../../platform/json.ts';
import { failedWith, type Substance } from './chat/content.ts';
import { describedError, errorIn, type UpstreamError } from './upstream-error.ts';
import { smallValueOf, topLevelMembers } from './json-edit.ts';
import { dataOf, eventsOf, type Frames, framesOf } from './sse.ts';
import { GOING, type Sight, type StreamWatch, type WatchedFrames } from './stream-inspector.ts';

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

const LF = 0x0a;
const BLANK = 0x20;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const DATA = Buffer.from('data:');

/** For events with a `type` in their data. An event is parsed only if it contains the name of one that matters. */
export function createTypedWatch({ done, failed }: TypedEnds, repair: EventRepair): StreamWatch {
  const words = [...done, ...failed, ...repair.words].map((type) => Buffer.from(type));

  function inspect(frames: Frames): WatchedFrames {
    const taken: Buffer[] = [];
    for (const event of eventsOf(frames)) {
      const type = words.some((word) => event.includes(word)) ? typeOf(event) : null;
      if (type !== null && failed.includes(type)) {
        return { frames: framesOf(taken), sight: { kind: 'error', error: errorOf(event) } };
      }
      const right = type === null ? event : repair.take(event, type);
      const isLast = type !== null && done.includes(type);
      if (isLast && !repair.isWhole()) return { frames: framesOf(taken), sight: UNFINISHED };
      if (right !== null) taken.push(right);
      if (isLast) return { frames: framesOf(taken), sight: { kind: 'done', last: right } };
    }
    return { frames: framesOf(taken), sight: GOING };
  }

  return {
    take(all) {
      const { frames, sight } = readable(all);
      const ended = words.some((word) => frames.bytes.includes(word)) ? inspect(frames) : null;
      return ended === null || ended.sight === GOING ? { frames, sight } : ended;
    },
    // Without its last event an answer is not whole: it carries the result.
    isFinished: false,
    mayTellUsage: true,
  };
}

/**
 * Drops events that are not JSON objects, on which a client's parser would throw. Clients read nothing behind a
 * `[DONE]`, and where it stands before the last event, that will not come.
 */
function readable(frames: Frames): WatchedFrames {
  const [only, second] = frames.ends;
  if (only !== undefined && second === undefined && isReadable(frames.bytes))
    return { frames, sight: GOING };
  const events = eventsOf(frames);
  if (events.every(isReadable)) return { frames, sight: GOING };
  const done = events.findIndex((event) => dataOf(event)?.trim() === '[DONE]');
  const before = done === -1 ? events : events.slice(0, done);
  return {
    frames: framesOf(before.filter(isReadable)),
    sight: done === -1 ? GOING : UNFINISHED,
  };
}

const UNFINISHED: Sight = { kind: 'unfinished' };

const errorOf = (event: Buffer): UpstreamError => errorOfTyped(parseJson(dataOf(event) ?? ''));

/** Responses tells an error flat, or within the response that failed. */
function errorOfTyped(value: unknown): UpstreamError {
  return errorIn(value) ?? errorIn(memberOf(value, 'response')) ?? describedError(value);
}

/** By the braces around the data, as these events are objects; without data there is nothing to be parsed. */
function isReadable(event: Buffer): boolean {
  const line = event.indexOf(DATA);
  // Behind another line, or the first one.
  if (line === -1 || (line > 0 && event[line - 1] !== LF)) return true;
  let at = line + DATA.length;
  while (event[at] === BLANK) at += 1;
  let last = event.length - 1;
  while (last > at && (event[last] ?? 0) <= BLANK) last -= 1;
  const isEmpty = (event[at] ?? BLANK) <= BLANK;
  return isEmpty || (event[at] === OPEN_BRACE && event[last] === CLOSE_BRACE);
}

/** The `type` of an event's data, read without parsing the rest: the last event holds the whole answer. */
function typeOf(event: Buffer): string | null {
  const data = Buffer.from(dataOf(event) ?? '');
  const type = smallValueOf(data, topLevelMembers(data), 'type');
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
