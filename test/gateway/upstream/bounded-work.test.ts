import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createAssembly } from '../../../main/gateway/protocols/assembly.ts';
import {
  type BodyReader,
  createAnswerReader,
  createAssemblingReader,
  createStreamReader,
  type Progress,
} from '../../../main/gateway/upstream/body-readers.ts';
import { isBadRequest, readRequest } from '../../../main/gateway/protocols/chat-request.ts';
import { CHAT_COMPLETIONS, CHAT_STREAM } from '../../../main/gateway/protocols/chat/endpoint.ts';
import { streamOf } from '../../../main/gateway/protocols/endpoint.ts';
import { MAX_BYTES_AT_ONCE } from '../../../main/gateway/protocols/json-edit.ts';

const PLAN = { format: CHAT_COMPLETIONS.answer, followsToolResult: () => false };
const RELAYED = { ...PLAN, mode: 'relay' } as const;
const MEBIBYTE = 1024 * 1024;
/** What a socket brings at a time. */
const PIECE_BYTES = 65_536;
/** Parsing so many values takes some 20 ms, and so many characters as one text 10 ms. */
const MAX_MARKS = 131_072;
const MAX_CHARS = 4 * MEBIBYTE + 2 * PIECE_BYTES;

/** `unit` over and over, of `bytes` in all, in the pieces that a socket brings. */
function* repeated(unit: string, bytes: number): Generator<Buffer> {
  const times = Math.max(1, Math.ceil(PIECE_BYTES / unit.length));
  const block = Buffer.from(unit.repeat(times));
  for (let sent = 0; sent < bytes; sent += block.length) {
    for (let at = 0; at < block.length; at += PIECE_BYTES)
      yield Buffer.from(block.subarray(at, at + PIECE_BYTES));
  }
}

function fed(reader: BodyReader, pieces: Iterable<Buffer>): Progress {
  for (const piece of pieces) {
    const progress = reader.push(piece);
    if (progress.kind !== 'more') return progress;
  }
  return reader.end();
}

function* joined(...parts: readonly (string | Iterable<Buffer>)[]): Generator<Buffer> {
  for (const part of parts) {
    if (typeof part === 'string') yield Buffer.from(part);
    else yield* part;
  }
}

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const delta = (fields: unknown) => event({ choices: [{ delta: fields }] });
const END = `${event({ choices: [{ delta: { content: 'end' }, finish_reason: 'stop' }] })}data: [DONE]\n\n`;

/** Sizes are in MiB: an event of one has three times as many marks as may be parsed. */
const WORST: readonly [name: string, unit: string, inEvent: number][] = [
  ['blank lines', '\n', 0],
  ['comments', ':\n\n', 0],
  ['lines in CR', 'a\r', 0],
  ['lines of data', 'data\n', 1],
  ['empty lists', '[],', 1],
  ['empty objects', '{},', 1],
  ['a deep nest', '[', 1],
  ['names', '"a":0,', 1],
  ['escapes', '\\"', 1],
  ['texts', '"",', 1],
];

test.each(WORST)(
  'the worst stream is never parsed in one piece, however long: %s',
  (_name, unit, inEvent) => {
    const body = () =>
      inEvent === 0
        ? repeated(unit, MEBIBYTE)
        : joined('data: {"choices":[', repeated(unit, inEvent * MEBIBYTE), '0]}\n\n');
    for (const create of [
      () => createStreamReader(CHAT_STREAM, RELAYED),
      () => createAssemblingReader(CHAT_STREAM, createAssembly(), RELAYED),
    ]) {
      const seen = watchParsing();
      const progress = fed(create(), body());
      expect(progress.kind).toBe('bad');
      expect(seen.marks).toBeLessThanOrEqual(MAX_MARKS);
      expect(seen.chars).toBeLessThanOrEqual(MAX_CHARS);
    }
  },
);

test.each([
  ['a text', 'x'],
  ['empty lists', '[],'],
  ['empty objects', '{},'],
  ['names', '"k":{"a":1},'],
])('the worst plain answer is never parsed in one piece, however long: %s', (_name, unit) => {
  const seen = watchParsing();
  const open = unit === 'x' ? '"' : unit.startsWith('"') ? '{' : '[';
  const close = { '"': '"', '{': '"z":0}', '[': '0]' }[open];
  const pieces = (mebibytes: number) =>
    joined(
      `{"choices":[{"message":{"content":"a"}}],"x":${open}`,
      repeated(unit, mebibytes * MEBIBYTE),
      `${close}}`,
    );
  expect(fed(createAnswerReader(PLAN), pieces(1)).kind).toBe('whole');
  expect(streamOf(Buffer.concat([...pieces(4.1)]), () => [])).toBeNull();
  expect(seen.chars).toBeLessThanOrEqual(64);
});

test.each([
  ['long texts', delta({ content: 'x'.repeat(3 * MEBIBYTE) })],
  ['texts', delta({ content: 'xy' })],
  ['lists', delta({ content: 'a', annotations: [{ a: [1, 2] }] })],
  ['tool calls', delta({ tool_calls: [{ index: 0, function: { name: 'f', arguments: 'xy' } }] })],
  ['usage', event({ usage: { x: 'y'.repeat(10_000) }, choices: [{ delta: { content: 'a' } }] })],
])('the worst assembled stream is never parsed in one piece, however long: %s', (_name, unit) => {
  const seen = watchParsing();
  const whole = fed(
    createAssemblingReader(CHAT_STREAM, createAssembly(), RELAYED),
    joined(repeated(unit, 4.5 * MEBIBYTE), END),
  );
  expect(whole.kind).toBe('whole');
  expect(seen.chars).toBeLessThanOrEqual(MAX_CHARS);
});

const largeBody = (unit: string, bytes: number) =>
  Buffer.from(`{"messages":[{}],"x":[${unit.repeat(bytes / unit.length)}0]}`);

test('a large request leaves the event loop to others after each slice', async () => {
  const bytes = largeBody('{},', 8 * MEBIBYTE);
  let turns = 0;
  const reading = readRequest(bytes, { endpoint: CHAT_COMPLETIONS, contentType: '' });
  const isOver = reading.then(() => true);
  while (!(await Promise.race([isOver, setImmediate(false)]))) turns += 1;
  expect(isBadRequest(await reading)).toBe(false);
  expect(turns).toBeGreaterThanOrEqual(Math.floor(bytes.length / MAX_BYTES_AT_ONCE) - 1);
});

/** What was given to `JSON.parse` and `JSON.stringify`, at the most in one call. */
interface ParsingSeen {
  /** Brackets, commas and colons of the text that had most of them. */
  marks: number;
  chars: number;
}

const marksIn = (text: string) => text.split(/[[{,:]/).length - 1;

/** Watches all parsing and writing of JSON until the test is over. */
function watchParsing(isOurs: (text: string) => boolean = () => true): ParsingSeen {
  const { parse, stringify } = JSON;
  const seen: ParsingSeen = { marks: 0, chars: 0 };
  const note = (text: unknown) => {
    if (typeof text !== 'string') return;
    // Where others have their turn, they may parse texts of their own.
    if (isOurs(text)) seen.chars = Math.max(seen.chars, text.length);
    // A shorter one cannot have more.
    if (text.length > seen.marks) seen.marks = Math.max(seen.marks, marksIn(text));
  };
  JSON.parse = (text: string, ...more: never[]): unknown => {
    note(text);
    return parse(text, ...more);
  };
  JSON.stringify = (value: unknown, ...more: never[]): string => {
    const text = stringify(value, ...more);
    note(text);
    return text;
  };
  onTestFinished(() => void Object.assign(JSON, { parse, stringify }));
  return seen;
}
