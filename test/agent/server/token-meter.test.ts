import { expect, test } from 'vitest';
import { createMeter } from '../../../main/agent/server/counters.ts';
import { answerChunks, chunk, DONE, STOP } from '../../support/upstream.ts';

const WORDS = Array.from({ length: 11 }, () => chunk({ content: 'word' }));

function streamed(pieces: readonly (string | Buffer)[], msBetween = 100) {
  const meter = createMeter();
  for (const [index, piece] of pieces.entries()) meter.see(Buffer.from(piece), index * msBetween);
  return meter;
}

test('a stream of eleven tokens in a second has ten tokens a second: the first ends the prompt', () => {
  expect(streamed([...WORDS, STOP, DONE]).count()).toEqual({ tokens: 11, decodeTps: 10 });
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

test.each([0, 2])('an answer in one piece is counted by its usage, indented by %i', (indent) => {
  // What a model writes about its tokens is not what the engine says of them.
  const content = '"usage": {"completion_tokens": 5}';
  const answer = { choices: [{ message: { content } }], usage: { completion_tokens: 9 } };
  const counted = streamed([JSON.stringify(answer, null, indent)]).count();
  expect(counted).toEqual({ tokens: 9, decodeTps: null });
});
