import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRollingHash, hashIsReady } from '../../../main/gateway/protocols/prompt-chain.ts';

await hashIsReady;

function hashOf(...pieces: readonly Uint8Array[]): number {
  const hash = createRollingHash();
  for (const piece of pieces) hash.add(Buffer.from(piece), 0, piece.length);
  return hash.key();
}

test('the rolling hash is the same whatever pieces the bytes come in, and wherever its key is read on the way', () => {
  const piece = fc.uint8Array({ maxLength: 100 });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const hash = createRollingHash();
      for (const each of pieces) {
        hash.add(Buffer.from(each), 0, each.length);
        hash.key();
      }
      const whole = Buffer.concat(pieces);
      const key = hash.key();
      expect(hash.length()).toBe(whole.length);
      expect(key).toBe(hashOf(whole));
      expect(Number.isSafeInteger(key)).toBe(true);
    }),
  );
});
