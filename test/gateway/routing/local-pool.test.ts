import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shuffled } from '../../../main/gateway/routing/local-pool.ts';
import { chance } from '../../support/chance.ts';

const seed = fc.nat();

describe('shuffled', () => {
  test('gives each number once, whatever chance says', () => {
    fc.assert(
      fc.property(fc.nat(200), seed, (count, from) => {
        const all = [...shuffled(count, chance(from))];
        expect(all.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => n));
      }),
    );
  });

  test('gives nothing of nothing', () => {
    expect([...shuffled(0, () => 0)]).toEqual([]);
  });

  test.each([0, 1 - 2 ** -53])('stays in its bounds where chance is always %d', (extreme) => {
    expect(new Set(shuffled(50, () => extreme)).size).toBe(50);
  });

  test('puts each number in each place about equally often', () => {
    const count = 5;
    const rounds = 20_000;
    const random = chance(1);
    const seen = Array.from({ length: count * count }, () => 0);
    for (let round = 0; round < rounds; round += 1) {
      [...shuffled(count, random)].forEach((number, place) => {
        const cell = place * count + number;
        seen[cell] = (seen[cell] ?? 0) + 1;
      });
    }
    // 4000 expected in each of the 25, with a standard deviation of 57.
    for (const times of seen) expect(Math.abs(times - rounds / count)).toBeLessThan(300);
  });

  test('draws no more than is taken, of however many', () => {
    let draws = 0;
    const numbers = shuffled(1e9, () => {
      draws += 1;
      return 0;
    });
    expect([numbers.next().value, numbers.next().value]).toEqual([0, 1]);
    expect(draws).toBe(2);
  });
});
