import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Framer, dataOf, eventsOf, isNamedError } from '../../../main/gateway/protocols/sse.ts';
import { cut } from '../../support/pieces.ts';

/** Pushes `pieces` and lists the events that came out, and what is left. */
function framed(pieces: readonly Buffer[]): { readonly events: string[]; readonly rest: string } {
  const framer = new Framer();
  const events = pieces.flatMap((piece) => {
    const frames = framer.push(piece);
    return frames === null ? [] : eventsOf(frames).map((event) => event.toString('latin1'));
  });
  return { events, rest: framer.takePending().toString('latin1') };
}

const line = fc.oneof(
  fc
    .string({ unit: 'grapheme', maxLength: 12 })
    .map((text) => `data: ${text.replace(/[\r\n]/g, '')}`),
  fc.constantFrom(': comment', 'event: error', 'id: 7', 'data', 'data:', 'data: [DONE]'),
);

test.each(['\n', '\r\n', '\r'])(
  'events end at a blank line and lines at %j, wherever the bytes are cut',
  (eol) => {
    const event = fc
      .array(line, { minLength: 1, maxLength: 4 })
      .map((lines) => lines.join(eol) + eol + eol);
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 5 }),
        fc.array(fc.nat(400), { maxLength: 12 }),
        (events, places) => {
          const bytes = Buffer.from(events.join(''));
          const seen = framed(cut(bytes, places));
          expect(seen.events).toEqual(events.map((text) => Buffer.from(text).toString('latin1')));
          expect(seen.rest).toBe('');
        },
      ),
      { numRuns: 200 },
    );
  },
);

test('no byte of a stream is lost, added or reordered, whatever the bytes and the cuts', () => {
  const bytes = fc
    .array(fc.constantFrom('\r', '\n', 'a', 'data: x', ':', 'ü'), { maxLength: 40 })
    .map((parts) => Buffer.from(parts.join('')));
  fc.assert(
    fc.property(bytes, fc.array(fc.nat(400), { maxLength: 12 }), (stream, places) => {
      const { events, rest } = framed(cut(stream, places));
      expect(events.join('') + rest).toBe(stream.toString('latin1'));
    }),
    { numRuns: 400 },
  );
});

test('a byte order mark before the first event is no part of it, wherever the bytes are cut', () => {
  const bytes = Buffer.from('\ufeffdata: x\n\n\ufeffdata: y\n\n');
  for (let place = 0; place <= bytes.length; place += 1) {
    const { events } = framed(cut(bytes, [place]));
    expect(events.map((event) => dataOf(Buffer.from(event, 'latin1')))).toEqual(['x', null]);
  }
});

test.each<[event: string, data: string | null, isNamedError: boolean]>([
  ['data: x\n\n', 'x', false],
  ['data:x\n\n', 'x', false],
  ['data:  x\n\n', ' x', false],
  ['data: a\r\ndata: b\r\n\r\n', 'a\nb', false],
  ['data: a\rdata: b\r\r', 'a\nb', false],
  ['data: a\ndata: b\n\n', 'a\nb', false],
  ['data\n\n', '', false],
  [': data: x\n\n', null, false],
  ['database: x\n\n', null, false],
  ['event: error\ndata: {}\n\n', '{}', true],
  ['event:error\n\n', null, true],
  ['data: {}\r\nevent: error\r\n\r\n', '{}', true],
  ['data: event: error\n\n', 'event: error', false],
  ['event: errors\ndata: x\n\n', 'x', false],
  ['events: error\ndata: x\n\n', 'x', false],
  ['data\nevent: error\n\n', '', true],
  ['data: a\n\n\n\n', 'a', false],
  ['data: a', 'a', false],
  ['data: \n\n', '', false],
  ['data: é\n\n', 'é', false],
  ['data: a\nb', 'a', false],
  ['data: a\revent: error\n\n', 'a', true],
  ['data: a\ndata\ndata: b\n', 'a\n\nb', false],
])('the event %j has the data %j, and is an error by its name: %j', (event, data, isError) => {
  expect(dataOf(Buffer.from(event))).toBe(data);
  expect(isNamedError(Buffer.from(event))).toBe(isError);
});
