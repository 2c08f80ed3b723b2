import { expect, test } from 'vitest';
import { Framer } from '../../../main/gateway/protocols/sse.ts';
import { ChunkWatch } from '../../../main/gateway/protocols/stream-inspector.ts';
import { chunk } from '../../support/upstream.ts';

const A = chunk({ content: 'a' });

/** What a watch lets through of events that come in these pieces. */
function readable(...pieces: readonly string[]): string {
  const watch = new ChunkWatch(1);
  const framer = new Framer();
  return pieces
    .flatMap((piece) => framer.push(Buffer.from(piece)) ?? [])
    .map((frames) => {
      const left = watch.take(frames)?.frames ?? frames;
      expect(left.ends.at(-1) ?? 0).toBe(left.bytes.length);
      return left.bytes.toString();
    })
    .join('');
}

test.each([
  ['a text', 'data: hello\n\n'],
  ['half a chunk', `${A.slice(0, 40)}\n\n`],
  ['half a chunk after its beginning', `data: ${A.slice(40)}`],
  ['a chunk without its last bracket', `${A.slice(0, -3)}\n\n`],
  ['braces around no JSON', 'data: {oh no}\n\n'],
  ['a number', 'data: 17\n\n'],
  ['null', 'data: null\n\n'],
  ['a list', 'data: []\n\n'],
  ['nothing', 'data:\n\n'],
  ['a text of one letter', 'data: x\n\n'],
  ['a named text', 'event: ping\ndata: x\n\n'],
  ['half a chunk with CRLF', 'data: {"id":"c1"\r\n\r\n'],
])(
  'the unreadable event of %s is dropped, alone, first, among others and at the end',
  (_name, broken) => {
    expect(readable(broken)).toBe('');
    expect(readable(broken + A)).toBe(A);
    expect(readable(A + A + broken + A, broken, A)).toBe(A.repeat(4));
    expect(readable(A, broken + broken)).toBe(A);
  },
);
