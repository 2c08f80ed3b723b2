import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ChunkReader } from '../../../main/platform/http/http1-parser.ts';
import { cut } from '../../support/pieces.ts';

/** Reads `pieces` to their end or to the first state that is not `going`. */
function read(pieces: readonly Buffer[]) {
  const data: Buffer[] = [];
  const reader = new ChunkReader({
    onData: (piece) => void data.push(Buffer.from(piece)),
  });
  let state = 'going';
  for (const piece of pieces) {
    // A copy: the reader may move what it reads.
    if (state === 'going') state = reader.push(Buffer.from(piece), 0, piece.length);
  }
  return { state, data: Buffer.concat(data).toString('latin1') };
}

const chunked = fc
  .array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 6 })
  .map((chunks) => {
    const bytes = chunks.map((chunk) => Buffer.from(chunk));
    const wire = bytes.flatMap((chunk) => [
      Buffer.from(`${chunk.length.toString(16)}\r\n`),
      chunk,
      Buffer.from('\r\n'),
    ]);
    return {
      data: Buffer.concat(bytes).toString('latin1'),
      wire: Buffer.concat([...wire, Buffer.from('0\r\n\r\n')]),
    };
  });

test('a chunked body is the same in whatever pieces it comes', () => {
  fc.assert(
    fc.property(chunked, fc.array(fc.nat(300)), ({ data, wire }, cuts) => {
      expect(read(cut(wire, cuts))).toEqual({ state: 'whole', data });
    }),
    { numRuns: 400 },
  );
});

test('a chunked body that is cut anywhere is not whole', () => {
  fc.assert(
    fc.property(chunked, fc.nat(), ({ wire }, at) => {
      expect(read([wire.subarray(0, at % wire.length)]).state).toBe('going');
    }),
    { numRuns: 400 },
  );
});

describe.each<[what: string, wire: string, data: string]>([
  ['an extension', '2;a=b\r\nhi\r\n0;x\r\n\r\n', 'hi'],
  ['several, with quotes', '2;a="b;\\"\t\xe9";c;d=e\r\nhi\r\n0\r\n\r\n', 'hi'],
  ['trailers', '2\r\nhi\r\n0\r\nx-a: b\r\ny: \r\n\r\n', 'hi'],
  [
    'large and small digits',
    `A\r\n${'x'.repeat(10)}\r\na\r\n${'y'.repeat(10)}\r\n0\r\n\r\n`,
    `${'x'.repeat(10)}${'y'.repeat(10)}`,
  ],
  ['leading zeros', '0002\r\nhi\r\n0000\r\n\r\n', 'hi'],
])('%s', (what, wire, data) => {
  test.each([1, 2, 3, 100])(`a chunked body with ${what} is whole, in pieces of %i`, (size) => {
    const cuts = [...Buffer.from(wire, 'latin1').keys()].filter((at) => at % size === 0);
    expect(read(cut(Buffer.from(wire, 'latin1'), cuts))).toEqual({ state: 'whole', data });
  });
});

test.each<[what: string, wire: string]>([
  ['no size', '\r\nhi'],
  ['a size that is none', 'zz\r\nhi\r\n'],
  ['a sign before the size', '+2\r\nhi\r\n'],
  ['0x before the size', '0x2\r\nhi\r\n'],
  ['a blank before the size', ' 2\r\nhi\r\n'],
  ['a size of 14 digits', '00000000000002\r\nhi\r\n'],
  ['a bare LF behind the size', '2\nhi\r\n'],
  ['a bare LF in an extension', '2;a\nb\r\nhi\r\n'],
  ['a CR without its LF', '2\rxhi\r\n'],
  ['more data than the size says', '2\r\nhim\r\n'],
  ['a bare LF behind the data', '2\r\nhi\n'],
  ['a bare LF in the trailers', '0\r\nx: y\n\r\n'],
  ['extensions without end', `2;${'x'.repeat(33_000)}`],
  ['a blank behind a size', '2 \r\nhi\r\n'],
  ['a tab behind a size', '2\t\r\nhi\r\n'],
  ['a blank before an extension', '2 ;a\r\nhi\r\n'],
  ['a blank in an extension', '2; a\r\nhi\r\n'],
  ['an extension without name', '2;\r\nhi\r\n'],
  ['an extension with an open quote', '2;a="b\r\nhi\r\n'],
  ['a trailer without colon', '0\r\nx\r\n\r\n'],
  ['a trailer without name', '0\r\n: y\r\n\r\n'],
  ['a blank in the name of a trailer', '0\r\nx y: z\r\n\r\n'],
  ['a folded trailer', '0\r\nx: y\r\n z\r\n\r\n'],
  ['a control in a trailer', '0\r\nx: \x01\r\n\r\n'],
  ['another response among the trailers', '0\r\nHTTP/1.1 200 OK\r\n\r\n'],
  ['a length among the trailers', '0\r\nContent-Length: 3\r\n\r\n'],
  ['a coding among the trailers', '0\r\nTransfer-Encoding: \r\n\r\n'],
  ['trailers without end', `0\r\n${'x: y\r\n'.repeat(9000)}`],
])('a chunked body with %s is malformed', (_what, wire) => {
  expect(read([Buffer.from(wire)]).state).toBe('malformed');
});

test('the chunks of one read are passed on as one piece, which does not keep the read in memory', () => {
  const pieces: Buffer[] = [];
  const reader = new ChunkReader({ onData: (piece) => void pieces.push(piece) });
  const bytes = Buffer.from('1\r\nx\r\n'.repeat(10_000));
  expect(reader.push(bytes, 0, bytes.length)).toBe('going');
  expect(pieces.map(String)).toEqual(['x'.repeat(10_000)]);
  expect(pieces[0]?.buffer).not.toBe(bytes.buffer);
});

test('a chunked body with bytes behind its end is an overrun', () => {
  expect(read([Buffer.from('0\r\n\r\nHTTP/1.1 200 OK')])).toEqual({ state: 'overrun', data: '' });
});
