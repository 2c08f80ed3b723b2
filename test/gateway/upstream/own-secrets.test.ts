import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { keysAmong, withoutKeys } from '../../../main/gateway/upstream/own-secrets.ts';
import type { Exchange } from '../../../main/platform/http/types.ts';

const KEYS = ['ab1ab1ab1ab1ab1ab', 'c2c2c2c2c2c2c2c2c3'];
const covered = (text: string) =>
  KEYS.reduce((all, key) => all.replaceAll(key, '[secret]'.padEnd(key.length, '*')), text);

/** What comes out of it for each piece, and at the end. */
function passed(pieces: readonly string[]): { readonly pieces: string[]; readonly end: string } {
  const out: string[] = [];
  const nothing = () => {};
  const listener = {
    onHead: nothing,
    onData: (bytes: Buffer) => void out.push(bytes.toString()),
    onEnd: nothing,
    onFailure: nothing,
  };
  const hasLeft = () => true;
  const inner: Exchange = { listener, pause: nothing, resume: nothing, abort: nothing, hasLeft };
  withoutKeys(inner, keysAmong(KEYS));
  const seen = pieces.map((piece) => {
    inner.listener.onData(Buffer.from(piece));
    return out.splice(0).join('');
  });
  inner.listener.onEnd();
  return { pieces: seen, end: out.join('') };
}

test('a key is masked wherever the pieces of an answer are cut, and nothing else changes', () => {
  const part = fc.oneof(
    fc.constantFrom(...KEYS, 'ab1', 'a', 'c2', 'c'),
    fc.string({ maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(part), fc.array(fc.nat(200)), (parts, cuts) => {
      const text = parts.join('');
      const places = [0, ...cuts.filter((at) => at < text.length).toSorted((a, b) => a - b)];
      const { pieces, end } = passed(places.map((at, i) => text.slice(at, places[i + 1])));
      expect(pieces.join('') + end).toBe(covered(text));
    }),
    { numRuns: 400 },
  );
});

test('only what may begin a key waits for the next piece of an answer', () => {
  const { pieces, end } = passed(['data: ab1a\n\n', 'say ab1a', 'c and ab']);
  expect([pieces, end]).toEqual([['data: ab1a\n\n', 'say ', 'ab1ac and '], 'ab']);
});

test.each(['ollama', 'sk-none', 'correct-horse-battery-staple', 'https://app1.example/notes'])(
  'a secret that is also a plain word stays in answers: %s',
  (secret) => {
    expect(keysAmong([secret])).toEqual([]);
  },
);
