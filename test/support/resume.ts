import * as fc from 'fast-check';
import { isObject } from '../../main/platform/json.ts';
import type { Splice } from '../../main/gateway/chat/resume/splice.ts';
import { readTranscript, type Transcript } from '../../main/gateway/chat/resume/transcript.ts';
import { Framer, dataOf, eventsOf, type Frames } from '../../main/gateway/protocols/sse.ts';
import { characters } from './characters.ts';

/** The events in `text` as whole frames. */
export function framesIn(...text: readonly string[]): Frames {
  const frames = new Framer().push(Buffer.from(text.join('')));
  if (frames === null) throw new Error('no whole event');
  return frames;
}

/** One chunk of a stream with the given identity. */
export function chunkOf(
  id: string,
  delta: Record<string, unknown>,
  finishReason: string | null = null,
  extra: Record<string, unknown> = {},
): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  const head = { id, object: 'chat.completion.chunk', created: 1, model: `model-${id}` };
  return `data: ${JSON.stringify({ ...head, choices, ...extra })}\n\n`;
}

/** Reads what must be a transcript. */
export async function transcriptOf(...sent: readonly string[]): Promise<Transcript> {
  const read = await readTranscript(sent.map((text) => Buffer.from(text)));
  if (read === null) throw new Error('not resumable');
  return read;
}

/** What comes out of a splice for pieces of the second stream, up to where it diverges. */
export function spliced(
  splice: Splice,
  pieces: readonly Frames[],
): { readonly bytes: string; readonly diverged: string | null } {
  let bytes = '';
  for (const piece of pieces) {
    const out = splice.push(piece);
    if (out.kind === 'diverged') return { bytes, diverged: out.detail };
    bytes += out.frames.bytes.toString('utf8');
  }
  return { bytes, diverged: null };
}

/** What a client makes of a stream. */
export interface Heard {
  readonly content: string;
  readonly reasoning: string;
  readonly roles: number;
  readonly finishes: readonly unknown[];
  readonly dones: number;
  readonly ids: ReadonlySet<unknown>;
  readonly models: ReadonlySet<unknown>;
  readonly indexes: ReadonlySet<unknown>;
  readonly usages: readonly Record<string, unknown>[];
}

/** Reads a stream as a client does. */
export function heard(stream: string): Heard {
  const data =
    stream === '' ? [] : eventsOf(framesIn(stream)).flatMap((event) => dataOf(event) ?? []);
  const chunks = data.filter((text) => text !== '[DONE]').map(parsed);
  const choices = chunks.flatMap((chunk) => (chunk['choices'] ?? []) as Record<string, unknown>[]);
  const deltas = choices.map((choice) => choice['delta'] as Record<string, unknown>);
  const joined = (field: string) =>
    deltas.map((delta) => (typeof delta[field] === 'string' ? delta[field] : '')).join('');
  return {
    content: joined('content'),
    reasoning: joined('reasoning_content'),
    roles: deltas.filter((delta) => 'role' in delta).length,
    finishes: choices.map((choice) => choice['finish_reason']).filter((reason) => reason !== null),
    dones: data.length - chunks.length,
    ids: new Set(chunks.map((chunk) => chunk['id'])),
    models: new Set(chunks.map((chunk) => chunk['model'])),
    indexes: new Set(choices.map((choice) => choice['index'])),
    usages: chunks.map((chunk) => chunk['usage']).filter(isObject),
  };
}

function parsed(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}

/** Text with everything that is more than one byte or more than one unit. */
export const anyText = (minLength = 0) =>
  fc
    .array(fc.oneof(characters(4), fc.constantFrom('a', 'ü', '€', '😀')), { maxLength: 16 })
    .map((parts) => parts.join('').padEnd(minLength, 'x😀'));

/** Places where something of any length is cut, as shares of its length. */
export const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 });

/** `text` cut there, between any two units: inside a character too, as engines do. */
export function piecesOf(text: string, places: readonly number[]): string[] {
  const ends = places.map((place) => Math.floor(place * text.length)).toSorted((a, b) => a - b);
  return [...ends, text.length].map((end, at) => text.slice(ends[at - 1] ?? 0, end));
}

/** A whole stream with a piece of text an event; the role stands alone, with the first text, or nowhere. */
export function streamOf(
  id: string,
  pieces: readonly string[],
  role: 'alone' | 'with text' | 'none',
): string[] {
  const first = role === 'with text' ? { role: 'assistant' } : {};
  return [
    ...(role === 'alone' ? [chunkOf(id, { role: 'assistant', content: '' })] : []),
    ...pieces.map((content, at) => chunkOf(id, { ...(at === 0 ? first : {}), content })),
    chunkOf(id, {}, 'stop'),
    'data: [DONE]\n\n',
  ];
}

/** `events` in pieces of whole events. */
export function framed(events: readonly string[], places: readonly number[]): Frames[] {
  const ends = places.map((place) => Math.floor(place * events.length)).toSorted((a, b) => a - b);
  return [...ends, events.length]
    .map((end, at) => events.slice(ends[at - 1] ?? 0, end))
    .filter((part) => part.length > 0)
    .map((part) => framesIn(...part));
}
