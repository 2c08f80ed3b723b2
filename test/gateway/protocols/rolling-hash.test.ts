import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRollingHash, hashIsReady } from '../../../main/gateway/protocols/prompt-chain.ts';
import { chance } from '../../support/chance.ts';

await hashIsReady;

function hashOf(...pieces: readonly Uint8Array[]): number {
  const hash = createRollingHash();
  for (const piece of pieces) hash.add(Buffer.from(piece), 0, piece.length);
  return hash.key();
}

function randomBytes(length: number, random: () => number): Buffer {
  return Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
}

describe('the rolling hash', () => {
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

  test('the rolling hash differs for each changed bit, for two changed bits, and for more bytes', () => {
    const bytes = randomBytes(96, chance(4));
    const flipped = (...bits: readonly number[]) => {
      const copy = Buffer.from(bytes);
      for (const bit of bits) copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return hashOf(copy);
    };
    const bits = Array.from({ length: 8 * bytes.length }, (_, bit) => bit);
    const changed = [
      hashOf(bytes),
      ...bits.map((bit) => flipped(bit)),
      ...bits.flatMap((bit) => bits.slice(bit + 1).map((other) => flipped(bit, other))),
      ...bits.map((more) => hashOf(bytes, Buffer.alloc(more + 1))),
    ];
    expect(new Set(changed).size).toBe(changed.length);
  });
});
