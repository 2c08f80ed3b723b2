import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { cheapestFirst, type Standing } from '../../../main/gateway/routing/machine-choice.ts';

const TOKENS = 1000;

/** What is left out of a machine is unknown, and no request waits there. */
const memberOf = (known: Partial<Standing>, id: number) => ({
  id,
  tokensPerSecond: null,
  ewmaTtft: null,
  newTokens: TOKENS,
  inFlight: 0,
  isHome: false,
  cached: 0,
  ...known,
});

const choose = (standings: readonly Partial<Standing>[]) =>
  cheapestFirst(standings.map(memberOf)).map(({ id }) => id);

const rate = fc.integer({ min: 10, max: 20_000 });
const load = fc.nat(50);

test('the choice of a machine goes by what it takes for the new part of the prompt, times its load', () => {
  const given = fc.record({ tokensPerSecond: rate, newTokens: fc.nat(50_000), inFlight: load });
  fc.assert(
    fc.property(given, given, (a, b) => {
      const cost = ({ tokensPerSecond, newTokens, inFlight }: typeof a) =>
        (100 + (1000 * newTokens) / tokensPerSecond) * (inFlight + 1);
      fc.pre(cost(a) !== cost(b));
      expect(choose([a, b])).toEqual(cost(a) < cost(b) ? [0, 1] : [1, 0]);
    }),
  );
});

test('the choice of a machine avoids the loaded one of two that are alike, however fast they are', () => {
  const more = fc.integer({ min: 1, max: 20 });
  fc.assert(
    fc.property(fc.option(rate), fc.nat(20), more, (tokensPerSecond, inFlight, by) => {
      expect(
        choose([
          { tokensPerSecond, inFlight: inFlight + by },
          { tokensPerSecond, inFlight },
        ]),
      ).toEqual([1, 0]);
    }),
  );
});

test('the choice of a machine leaves the machine with the cache once another one is quicker', () => {
  // 200 ms and 2100 ms.
  const warm = { newTokens: 100, isHome: true };
  const cold = { newTokens: 2000 };
  expect(choose([cold, { ...warm, inFlight: 9 }])).toEqual([1, 0]);
  expect(choose([cold, { ...warm, inFlight: 11 }])).toEqual([0, 1]);
});

test('the choice of a machine takes an unknown one to be as quick as the others, so that it is tried', () => {
  expect(choose([{ tokensPerSecond: 50, cached: 1 }, {}])).toEqual([1, 0]);
  expect(choose([{ ewmaTtft: 20, cached: 1 }, {}])).toEqual([1, 0]);
});
