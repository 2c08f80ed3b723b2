import { isObject } from '#shared/objects.ts';
import { listOf, parseJson } from '../../platform/json.ts';
import type { Span } from './json-members.ts';

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

/** An event without its text, which lies between the two quotes of `start` and `end`. */
export interface ChunkFrame extends Span {
  readonly bytes: Buffer;
}

/** The names of a chunk's texts, in quotes. */
export const TEXT_NAMES = ['content', 'reasoning_content', 'reasoning'].map((key) => ({
  key,
  quoted: Buffer.from(`"${key}"`),
}));
/** A chunk of text has some hundred bytes. */
const MAX_USUAL_BYTES = 4096;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const BLANK = 0x20;

/** Null for an event that is too long to be usual. */
export function frameAround(event: Buffer, { start, end }: Span): ChunkFrame | null {
  if (event.length > MAX_USUAL_BYTES) return null;
  // A copy: the event is a part of what came with it, all of which would stay in memory.
  return { bytes: Buffer.from(event), start, end };
}

/** Where the text ends of an event, the bytes between `from` and `to`, that is otherwise as the frame; -1 for any other. */
export function textEndIn(frame: ChunkFrame, bytes: Buffer, from: number, to: number): number {
  const { bytes: framed, start, end } = frame;
  const textEnd = to - (framed.length - end);
  const isFramed =
    textEnd >= from + start &&
    framed.compare(bytes, from, from + start, 0, start) === 0 &&
    framed.compare(bytes, textEnd, to, end) === 0;
  return isFramed ? textEnd : -1;
}

/** The first byte of the value of the name that ends at `from`; -1 where no value follows. */
export function valueAt(bytes: Buffer, from: number): number {
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
      // Undefined where the text ends earlier, and the rest only looks like its end.
      const text = parseJson(`"${event.toString('utf8', frame.start, end)}"`);
      return typeof text === 'string' && text !== '' ? { key, text } : null;
    },
    learn(event, chunk) {
      known = knownFrom(event, chunk);
    },
  };
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
