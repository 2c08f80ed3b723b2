import { describe, expect, test } from 'vitest';
import { createSseReader } from '../../renderer/api/sse.ts';
import { workMs } from '../support/at-once.ts';

const STREAM = 'data: {"a":1}\n\n: keep-alive\n\nevent: x\ndata:two\ndata: lines\r\n\r\nid: 7\n\n';

function read(chunks: readonly string[]): readonly string[] {
  const seen: string[] = [];
  const push = createSseReader((data) => seen.push(data));
  for (const chunk of chunks) push(chunk);
  return seen;
}

describe('event stream reader', () => {
  test('comments and events without data are not events', () => {
    expect(read([STREAM])).toEqual(['{"a":1}', 'two\nlines']);
  });

  test('where the stream is cut into chunks makes no difference', () => {
    const whole = read([STREAM]);
    for (let cut = 1; cut < STREAM.length; cut += 1) {
      expect(read([STREAM.slice(0, cut), STREAM.slice(cut)])).toEqual(whole);
    }
    expect(read(STREAM.split(''))).toEqual(whole);
  });

  test('an event that was not finished is not delivered', () => {
    expect(read(['data: half\n'])).toEqual([]);
  });

  test('eight times as many pieces of one event take no 24 times as long', () => {
    const reading = (pieces: number) =>
      workMs(() => {
        const push = createSseReader(() => {});
        for (let piece = 0; piece < pieces; piece += 1) push('a piece of an event.');
        push('\n\n');
      });
    reading(4000);
    // The clock of CPU time may tick in steps of four milliseconds.
    expect(reading(32_000)).toBeLessThan(24 * Math.max(reading(4000), 8));
  });
});
