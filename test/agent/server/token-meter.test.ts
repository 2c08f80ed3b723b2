import { describe, expect, test } from 'vitest';
import { createStreamMeter, createWholeMeter } from '../../../main/agent/server/counters.ts';
import { answerChunks, chunk, DONE, STOP } from '../../support/upstream.ts';

const WORDS = Array.from({ length: 11 }, () => chunk({ content: 'word' }));

function streamed(pieces: readonly (string | Buffer)[], msBetween = 100) {
  const meter = createStreamMeter();
  for (const [index, piece] of pieces.entries()) meter.see(Buffer.from(piece), index * msBetween);
  return meter;
}

describe('the tokens of a stream', () => {
  test('a stream of eleven tokens in a second has ten tokens a second: the first ends the prompt', () => {
    expect(streamed([...WORDS, STOP, DONE]).count()).toEqual({ tokens: 11, decodeTps: 10 });
  });

  test('a stream with usage has as many tokens as that says', () => {
    const usage = 'data: {"choices":[],"usage":{"completion_tokens":101}}\n\n';
    expect(streamed([...WORDS, usage, DONE]).count()).toEqual({ tokens: 101, decodeTps: 100 });
  });

  test('a stream has the same count in whatever pieces it comes', () => {
    const bytes = Buffer.from(answerChunks('a b c d').join('').replaceAll('\n', '\r\n'));
    for (let size = 1; size < 40; size += 1) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(streamed(pieces, 0).count().tokens).toBe(4);
    }
  });

  test('a stream that came all at once, or was slowed by its caller, measures no speed', () => {
    expect(streamed(WORDS, 0).count().decodeTps).toBeNull();
    const meter = streamed(WORDS);
    meter.slowed();
    expect(meter.count()).toEqual({ tokens: 11, decodeTps: null });
  });

  test('a line without end in a stream is not kept', () => {
    expect(streamed([Buffer.alloc(1_000_000, 'x'), '\n', ...WORDS]).count().tokens).toBe(11);
  });
});

test.each([
  ['{"usage":{"completion_tokens":5}}', 5],
  ['{"usage":{"completion_tokens":-5}}', 0],
  ['{"usage":null}', 0],
  ['no JSON', 0],
])('the answer %s has %i tokens', (text, tokens) => {
  const meter = createWholeMeter();
  meter.see(Buffer.from(text), 0);
  expect(meter.count().tokens).toBe(tokens);
});
