import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cheapestFirst, type PoolMember } from '../../../main/gateway/routing/machine-choice.ts';
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
    ewmaTtft: null,
    newBytes,
    inFlight: 0,
    isHome: false,
    conversations: 0,
    ...known,
  };
}

const choose = (standings: readonly Standing[], meanTtft: number | null = 200) =>
  cheapestFirst(standings.map(memberOf), meanTtft).map(({ provider }) => Number(provider));

const ttft = fc.integer({ min: 1, max: 60_000 });
const load = fc.nat(50);

describe('the choice of a machine', () => {
  test('has each machine once', () => {
    const standing = fc.record({ ewmaTtft: fc.option(ttft), inFlight: load, isHome: fc.boolean() });
    fc.assert(
      fc.property(fc.array(standing, { maxLength: 12 }), fc.option(ttft), (given, meanTtft) => {
        const all = choose(given, meanTtft).toSorted((a, b) => a - b);
        expect(all).toEqual(given.map((_, id) => id));
      }),
    );
  });

  test('goes by what is predicted for the prompt times load', () => {
    const given = fc.record({ predictedTtft: ttft, msPerByte: fc.constant(1), inFlight: load });
    fc.assert(
      fc.property(given, given, (a, b) => {
        const cost = ({ predictedTtft, inFlight }: typeof a) => predictedTtft * (inFlight + 1);
        fc.pre(cost(a) !== cost(b));
        expect(choose([a, b])).toEqual(cost(a) < cost(b) ? [0, 1] : [1, 0]);
      }),
    );
  });

  test('avoids the loaded one of two that are alike, however fast they are', () => {
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

  test('keeps a conversation where its cache is while nothing is known of the machines', () => {
    expect(choose([{}, { newBytes: 100, isHome: true }], null)).toEqual([1, 0]);
    expect(choose([{}, { newBytes: 100, isHome: true, inFlight: 7 }], null)).toEqual([1, 0]);
  });

  test('leaves the machine with the cache exactly when another one is quicker', () => {
    const warm = { predictedTtft: 300, msPerByte: 0.25, newBytes: 100 };
    const cold = { predictedTtft: 2500, msPerByte: 0.25, newBytes: 9000 };
    expect(choose([{ ...warm, inFlight: 6 }, cold])).toEqual([0, 1]);
    expect(choose([{ ...warm, inFlight: 9 }, cold])).toEqual([1, 0]);
  });

  test('believes no prediction from short prompts of a long one', () => {
    const taughtByShort = { predictedTtft: 300 };
    expect(
      choose([
        { ...taughtByShort, newBytes: 200_000 },
        { ...taughtByShort, newBytes: 400, isHome: true, inFlight: 3 },
      ]),
    ).toEqual([1, 0]);
  });

  test('gives the conversation its own machine among those that are about as quick', () => {
    const known = { msPerByte: 0.25 };
    expect(
      choose([
        { ...known, predictedTtft: 1000 },
        { ...known, predictedTtft: 1050, isHome: true },
      ]),
    ).toEqual([1, 0]);
  });

  test('gives a new conversation to the machine with the fewest of those that are about as quick', () => {
    const known = { msPerByte: 0.25 };
    expect(
      choose([
        { ...known, predictedTtft: 1000, conversations: 3 },
        { ...known, predictedTtft: 1080, conversations: 2 },
        { ...known, predictedTtft: 2000 },
      ]),
    ).toEqual([1, 0, 2]);
  });

  test('holds an unknown machine to be as quick as the others, so that it is tried', () => {
    const known = { predictedTtft: 1000, msPerByte: 0.9, conversations: 1 };
    expect(choose([known, {}])).toEqual([1, 0]);
  });

  test('holds a prediction of nothing for the shortest time, so that load still tells', () => {
    const nothing = { predictedTtft: 0, newBytes: 0 };
    expect(choose([{ ...nothing, inFlight: 1 }, nothing])).toEqual([1, 0]);
  });
});
