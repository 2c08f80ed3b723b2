import { isObject } from '#shared/objects.ts';
import { listOf, parseJson } from '../../platform/json.ts';

/** The text of a chunk, and the field of its delta that it is in. */
export interface ChunkText {
  readonly key: string;
  readonly text: string;
}

/**
 * Most chunks of a chat completion differ from the one before in their text alone. Such a chunk is compared with it, byte
 * by byte, and not parsed: whatever else it says has been heard already.
 */
export interface UsualText {
  /** The text of an event that is otherwise as the last one learnt; null for any other. */
  of(event: Buffer): ChunkText | null;
  /** To be called with each event that was parsed. */
  learn(event: Buffer, chunk: unknown): void;
}

/** The last event without its text. */
interface Frame {
  readonly key: string;
  readonly bytes: Buffer;
  /** Behind the quote with which the text begins. */
  readonly start: number;
  /** From the quote with which it ends. */
  readonly end: number;
}

const KEYS = ['content', 'reasoning_content', 'reasoning'].map((key) => ({
  key,
  quoted: Buffer.from(`"${key}"`),
}));
/** A chunk of text has some hundred bytes. */
const MAX_USUAL_BYTES = 4096;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const BLANK = 0x20;

export function createUsualText(): UsualText {
  let known: Frame | null = null;
  return {
    of(event) {
      if (known === null) return null;
      const { key, bytes, start, end } = known;
      const ending = event.length - (bytes.length - end);
      if (ending <= start) return null;
      if (event.compare(bytes, 0, start, 0, start) !== 0) return null;
      if (event.compare(bytes, end, bytes.length, ending) !== 0) return null;
      // Undefined where the text ends earlier, and the rest only looks like its end.
      const text = parseJson(`"${event.toString('utf8', start, ending)}"`);
      return typeof text === 'string' && text !== '' ? { key, text } : null;
    },
    learn(event, chunk) {
      known = frameOf(event, chunk);
    },
  };
}

/** Null for an event in which more than the text may grow. */
function frameOf(event: Buffer, chunk: unknown): Frame | null {
  if (!isObject(chunk) || event.length > MAX_USUAL_BYTES) return null;
  const [choice, second] = listOf(chunk['choices']);
  const delta = isObject(choice) ? choice['delta'] : null;
  if (!isObject(delta) || second !== undefined) return null;
  const [said, more] = Object.entries(delta).filter(
    ([name, value]) => name !== 'role' && value !== null,
  );
  if (said === undefined || more !== undefined) return null;
  const at = KEYS.find(({ key }) => key === said[0]);
  const span = at === undefined ? null : textAfter(event, at.quoted);
  if (at === undefined || span === null) return null;
  const isIt = parseJson(`"${event.toString('utf8', span.start, span.end)}"`) === said[1];
  // A copy: the event is a part of what came with it, all of which would stay in memory.
  return isIt ? { key: at.key, bytes: Buffer.from(event), ...span } : null;
}

/** The only text of that name; null if there is none, or another that is called so. */
function textAfter(
  event: Buffer,
  name: Buffer,
): { readonly start: number; readonly end: number } | null {
  const at = event.indexOf(name);
  if (at === -1 || event.includes(name, at + name.length)) return null;
  const colon = skipBlanks(event, at + name.length);
  const quote = event[colon] === COLON ? skipBlanks(event, colon + 1) : -1;
  if (event[quote] !== QUOTE) return null;
  for (let end = quote + 1; end < event.length; end += 1) {
    if (event[end] === BACKSLASH) end += 1;
    else if (event[end] === QUOTE) return { start: quote + 1, end };
  }
  return null;
}

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === BLANK) at += 1;
  return at;
}
