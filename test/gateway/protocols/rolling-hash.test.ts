import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRollingHash } from '../../../main/gateway/protocols/rolling-hash.ts';
import { chance } from '../../support/chance.ts';

const u64 = (value: bigint) => BigInt.asUintN(64, value);
const rotated = (value: bigint, bits: bigint) => u64(value << bits) | (value >> (64n - bits));
const [FACTOR_1, FACTOR_2] = [0x9e37_79b1_85eb_ca87n, 0xc2b2_ae3d_27d4_eb4fn];
const MERGE_BITS = [1n, 7n, 12n, 18n];

/** The same in plain arithmetic. */
function expected(bytes: Buffer): number {
  const seed = Buffer.alloc(32, 'switchyard');
  const lanes = MERGE_BITS.map((_, lane) => seed.readBigUInt64LE(8 * lane));
  const padded = Buffer.concat([bytes, Buffer.alloc(32 - (bytes.length % 32))]);
  for (let at = 0; at < padded.length; at += 8) {
    const lane = (at / 8) % 4;
    const sum = u64((lanes[lane] ?? 0n) + padded.readBigUInt64LE(at) * FACTOR_2);
    lanes[lane] = u64(rotated(sum, 31n) * FACTOR_1);
  }
  const merged = lanes.map((lane, at) => rotated(lane, MERGE_BITS[at] ?? 0n));
  const sum = u64(merged.reduce((total, each) => total + each, BigInt(bytes.length)));
  return Number(u64((sum ^ (sum >> 33n)) * FACTOR_2) >> 11n);
}

function hashOf(...pieces: readonly Uint8Array[]): number {
  const hash = createRollingHash();
  for (const piece of pieces) hash.add(Buffer.from(piece), 0, piece.length);
  return hash.key();
}

function randomBytes(length: number, random: () => number): Buffer {
  return Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
}

describe('the rolling hash', () => {
  test('the rolling hash is what plain arithmetic gives', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(hashOf(bytes)).toBe(expected(Buffer.from(bytes)));
      }),
    );
  });

  test('the rolling hash is what plain arithmetic gives where the bytes fill its memory several times', () => {
    const random = chance(3);
    for (const length of [65_471, 65_472, 65_473, 200_001]) {
      const bytes = randomBytes(length, random);
      expect(hashOf(bytes)).toBe(expected(bytes));
    }
  });

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
