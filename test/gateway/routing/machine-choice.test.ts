import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cheapestFirst, type PoolMember } from '../../../main/gateway/routing/local-pool.ts';
import { parseBaseAddress } from '../../../main/gateway/upstream/upstreams.ts';

const baseAddress = parseBaseAddress('http://127.0.0.1:1', 'local');

/** What a machine is like; what is left out is not known, and nobody waits there. */
type Standing = Partial<Omit<PoolMember, 'target'>>;

const TOKENS = 1000;

const memberOf = (known: Standing, id: number): PoolMember => ({
  target: { provider: String(id), baseAddress, models: [], ownedBy: null, gatewayToken: '' },
  tokensPerSecond: null,
  ewmaTtft: null,
  newTokens: TOKENS,
  inFlight: 0,
  isHome: false,
  conversations: 0,
  ...known,
});

const choose = (standings: readonly Standing[]) =>
  cheapestFirst(standings.map(memberOf)).map(({ provider }) => Number(provider));

const rate = fc.integer({ min: 10, max: 20_000 });
const load = fc.nat(50);

describe('the choice of a machine', () => {
  test('the choice of a machine has each machine once', () => {
    const standing = fc.record({
      tokensPerSecond: fc.option(rate),
      ewmaTtft: fc.option(fc.nat(60_000)),
      newTokens: fc.nat(100_000),
      inFlight: load,
      isHome: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(standing, { maxLength: 12 }), (given) => {
        const all = choose(given).toSorted((a, b) => a - b);
        expect(all).toEqual(given.map((_, id) => id));
      }),
    );
  });

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

  test('the choice of a machine goes by times to first token where no long prompt was read', () => {
    expect(choose([{ ewmaTtft: 3000 }, { ewmaTtft: 300 }])).toEqual([1, 0]);
  });

  test('the choice of a machine is not swayed by the long prompts that a machine of known speed has read', () => {
    const home = { tokensPerSecond: 1000, ewmaTtft: 30_000, newTokens: 100, isHome: true };
    expect(choose([{ tokensPerSecond: 1000, ewmaTtft: 100 }, home])).toEqual([1, 0]);
  });

  test('the choice of a machine takes an unknown one to be as quick as the others, so that it is tried', () => {
    expect(choose([{ tokensPerSecond: 50, conversations: 1 }, {}])).toEqual([1, 0]);
    expect(choose([{ ewmaTtft: 20, conversations: 1 }, {}])).toEqual([1, 0]);
  });

  test('the choice of a machine spreads conversations over machines that are about as quick', () => {
    const [fuller, emptier] = [{ conversations: 2 }, { conversations: 1, newTokens: 1050 }];
    expect(choose([fuller, emptier])).toEqual([1, 0]);
    expect(choose([{ ...fuller, isHome: true }, emptier])).toEqual([0, 1]);
  });
});
