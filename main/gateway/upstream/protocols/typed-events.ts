import { isObject } from '#shared/objects.ts';
import { errorMessage, type Substance } from '../completion.ts';
import { smallValueOf, topLevelMembers } from '../json-members.ts';
import { dataOf, eventsOf, type Frames, framesOf } from '../sse.ts';
import type { Sight, StreamWatch } from '../stream-inspector.ts';

/** The types of the events that end a stream, of protocols whose events have a `type`. */
export interface TypedEnds {
  readonly done: readonly string[];
  readonly failed: readonly string[];
}

const GOING: Sight = { kind: 'going' };
const LF = 0x0a;
const BLANK = 0x20;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const DATA = Buffer.from('data:');

/** For events with a `type` in their data. An event is parsed only if it contains the name of one that ends a stream. */
export function createTypedWatch({ done, failed }: TypedEnds): StreamWatch {
  const words = [...done, ...failed].map((type) => Buffer.from(type));
  const failures = new Set(failed);
  const ends = new Set([...done, ...failed]);

  function inspect(frames: Frames): Sight {
    let start = 0;
    for (const end of frames.ends) {
      const event = frames.bytes.subarray(start, end);
      const type = words.some((word) => event.includes(word)) ? typeOf(event) : null;
      if (type !== null && ends.has(type)) {
        return failures.has(type) ? { kind: 'error', end: start } : { kind: 'done', end };
      }
      start = end;
    }
    return GOING;
  }

  return {
    readable(frames) {
      const [only, second] = frames.ends;
      if (only !== undefined && second === undefined && isReadable(frames.bytes)) return frames;
      const events = eventsOf(frames);
      return events.every(isReadable) ? frames : framesOf(events.filter(isReadable));
    },
    see: (frames) => (words.some((word) => frames.bytes.includes(word)) ? inspect(frames) : GOING),
    // Without its last event an answer is not whole: it carries the result.
    finished: () => false,
    mayTellUsage: () => true,
  };
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
  const isObjectText = event[at] === OPEN_BRACE && event[last] === CLOSE_BRACE;
  return isEmpty || isObjectText || event.toString('latin1', at, last + 1) === '[DONE]';
}

/** The `type` of an event's data, read without parsing the rest: the last event holds the whole answer. */
function typeOf(event: Buffer): string | null {
  const data = Buffer.from(dataOf(event) ?? '');
  const type = smallValueOf(data, topLevelMembers(data), 'type');
  return typeof type === 'string' ? type : null;
}

/** Judges the data of an event by its type. */
export function judgeTyped(
  value: unknown,
  { failed }: TypedEnds,
  hasContent: (type: string, value: Readonly<Record<string, unknown>>) => boolean,
): Substance {
  if (!isObject(value)) return { kind: 'error', message: 'not a JSON object' };
  const message = errorMessage(value);
  const type = value['type'];
  if (message !== null || typeof type !== 'string' || failed.includes(type)) {
    return { kind: 'error', message: message ?? 'an event of no known type' };
  }
  return { kind: hasContent(type, value) ? 'content' : 'nothing' };
}
