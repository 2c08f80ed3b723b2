import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cheapestFirst, type PoolMember } from '../../../main/gateway/routing/local-pool.ts';
import { parseBaseAddress } from '../../../main/gateway/upstream/upstreams.ts';

const baseAddress = parseBaseAddress('http://127.0.0.1:1', 'local');

/** What a machine is like; what is left out is not known, and nobody waits there. */
interface Standing extends Partial<Omit<PoolMember, 'target' | 'prediction'>> {
  readonly predictedTtft?: number;
  readonly msPerByte?: number;
}

const BYTES = 1000;

function memberOf({ predictedTtft, msPerByte = 0, ...known }: Standing, id: number): PoolMember {
  const newBytes = known.newBytes ?? BYTES;
  return {
    target: { provider: String(id), baseAddress, models: [], ownedBy: null, gatewayToken: '' },
    prediction:
      predictedTtft === undefined
        ? null
        : {
            ttftMs: predictedTtft,
            earliestMs: 0,
            latestMs: predictedTtft,
            prefillMs: msPerByte * newBytes,
          },
    mean:
      predictedTtft === undefined
        ? null
        : { promptBytes: newBytes, ttftMs: predictedTtft, samples: 20 },
    ewmaTtft: null,
    newBytes,
    inFlight: 0,
    isHome: false,
    conversations: 0,
    ...known,
  };
}

const choose = (standings: readonly Standing[]) =>
  cheapestFirst(standings.map(memberOf)).map(({ provider }) => Number(provider));

const ttft = fc.integer({ min: 1, max: 60_000 });
const load = fc.nat(50);

describe('the choice of a machine', () => {
  test('the choice of a machine has each machine once', () => {
    const mean = fc.option(
      fc.record({
        promptBytes: fc.nat(100_000),
        ttftMs: fc.nat(60_000),
        samples: fc.integer({ min: 1, max: 33 }),
      }),
    );
    const standing = fc.record({
      mean,
      ewmaTtft: fc.option(ttft),
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

  test('the choice of a machine goes by its load times what is predicted for the prompt', () => {
    const given = fc.record({ predictedTtft: ttft, msPerByte: fc.constant(1), inFlight: load });
    fc.assert(
      fc.property(given, given, (a, b) => {
        const cost = ({ predictedTtft, inFlight }: typeof a) => predictedTtft * (inFlight + 1);
        fc.pre(cost(a) !== cost(b));
        expect(choose([a, b])).toEqual(cost(a) < cost(b) ? [0, 1] : [1, 0]);
      }),
    );
  });

  test('the choice of a machine avoids the loaded one of two that are alike, however fast they are', () => {
    const more = fc.integer({ min: 1, max: 20 });
    fc.assert(
      fc.property(fc.option(ttft), fc.nat(20), more, (ewmaTtft, inFlight, by) => {
        expect(
          choose([
            { ewmaTtft, inFlight: inFlight + by },
            { ewmaTtft, inFlight },
          ]),
        ).toEqual([1, 0]);
      }),
    );
  });

  test('the choice of a machine takes most of a long first token for reading while no rate is known', () => {
    // 100 ms of overhead, and 1 ms for each byte.
    const mean = { promptBytes: 1000, ttftMs: 1100, samples: 10 };
    const cold = { mean, newBytes: 1000 };
    const warm = { mean, newBytes: 120, isHome: true };
    expect(choose([cold, { ...warm, inFlight: 4 }])).toEqual([1, 0]);
    expect(choose([cold, { ...warm, inFlight: 5 }])).toEqual([0, 1]);
  });

  test('the choice of a machine takes half of a short first token for overhead, which spreads short prompts', () => {
    const mean = { promptBytes: 400, ttftMs: 60, samples: 10 };
    const cold = { mean, newBytes: 400 };
    const warm = { mean, newBytes: 0, isHome: true };
    expect(choose([cold, { ...warm, inFlight: 2 }])).toEqual([1, 0]);
    expect(choose([cold, { ...warm, inFlight: 3 }])).toEqual([0, 1]);
  });

  test('the choice of a machine takes machines that answer at once as equal, whichever was asked', () => {
    const asked = { mean: { promptBytes: 8000, ttftMs: 0, samples: 10 }, conversations: 1 };
    const again = { mean: { promptBytes: 8000, ttftMs: 1, samples: 10 }, conversations: 2 };
    expect(choose([again, asked, {}])).toEqual([2, 1, 0]);
  });

  test('the choice of a machine gives one slow answer little weight, and twenty all of theirs', () => {
    const usual = { predictedTtft: 200, inFlight: 1 };
    const slow = { mean: { promptBytes: 1000, ttftMs: 1000, samples: 1 } };
    expect(choose([usual, slow])).toEqual([1, 0]);
    const isLevel = { predictedTtft: 1000, mean: { ...slow.mean, samples: 20 } };
    expect(choose([usual, isLevel])).toEqual([0, 1]);
  });

  test('the choice of a machine leaves the machine with the cache exactly when another one is quicker', () => {
    const warm = { predictedTtft: 300, msPerByte: 0.25, newBytes: 100 };
    const cold = { predictedTtft: 2500, msPerByte: 0.25, newBytes: 9000 };
    expect(choose([{ ...warm, inFlight: 6 }, cold])).toEqual([0, 1]);
    expect(choose([{ ...warm, inFlight: 9 }, cold])).toEqual([1, 0]);
  });

  test('the choice of a machine trusts no prediction from short prompts for a long one', () => {
    const taughtByShort = {
      predictedTtft: 300,
      mean: { promptBytes: 400, ttftMs: 300, samples: 20 },
    };
    expect(
      choose([
        { ...taughtByShort, newBytes: 200_000 },
        { ...taughtByShort, newBytes: 400, isHome: true, inFlight: 3 },
      ]),
    ).toEqual([1, 0]);
  });

  test('the choice of a machine takes an unknown one to be as quick as the others, so that it is tried', () => {
    const known = { predictedTtft: 1000, msPerByte: 0.9, conversations: 1 };
    expect(choose([known, {}])).toEqual([1, 0]);
  });

  test('the choice of a machine goes by load where nothing but zero is predicted', () => {
    const nothing = { predictedTtft: 0, newBytes: 0 };
    expect(choose([{ ...nothing, inFlight: 1 }, nothing])).toEqual([1, 0]);
  });
});
