import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { modelFacts } from '../../../main/engines/model-facts.ts';
import {
  type BalancingDeps,
  type PoolMember,
  type PoolRequest,
  chooseInOrder,
  localPool,
  shuffled,
} from '../../../main/gateway/routing/local-pool.ts';
import { parseBaseAddress, type LocalTarget } from '../../../main/gateway/upstream/upstreams.ts';
import { chance } from '../../support/chance.ts';

const baseAddress = parseBaseAddress('http://127.0.0.1:1', 'local');

function targetOf(id: number): LocalTarget {
  return { provider: String(id), baseAddress, models: [], ownedBy: null, gatewayToken: '' };
}

const targetsOf = (count: number) => Array.from({ length: count }, (_, id) => targetOf(id));

/** What a machine is like; null: it is out. What is left out is not known, and nobody waits there. */
type Standing = Partial<Omit<PoolMember, 'target'>> | null;

const UNKNOWN = { ewmaTtft: null, predictedTtft: null, inFlight: 0 };

function choose(standings: readonly Standing[], meanTtft: number | null, random: () => number) {
  const targets = standings.map((_, id) => targetOf(id));
  const standing = (target: LocalTarget): PoolMember | null => {
    const found = standings[Number(target.provider)] ?? null;
    return found === null ? null : { target, ...UNKNOWN, ...found };
  };
  return chooseInOrder(targets, standing, meanTtft, random).map(({ provider }) => Number(provider));
}

/** How often each of two machines is asked first. */
function firsts(standings: readonly Standing[], meanTtft: number | null): number[] {
  const counts = standings.map(() => 0);
  const random = chance(7);
  for (let n = 0; n < 1000; n += 1) {
    const [first] = choose(standings, meanTtft, random);
    if (first !== undefined) counts[first] = (counts[first] ?? 0) + 1;
  }
  return counts;
}

const ttft = fc.option(fc.double({ min: 0, max: 60_000, noNaN: true }));
const standings = fc.array(
  fc.option(fc.record({ ewmaTtft: ttft, predictedTtft: ttft, inFlight: fc.nat(50) })),
  { maxLength: 12 },
);
const seed = fc.nat();
const mean = ttft;

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

describe('the choice', () => {
  test('is at most three machines, each once, all of them admitted, and all where there are no more', () => {
    fc.assert(
      fc.property(standings, mean, seed, (given, meanTtft, from) => {
        const chosen = choose(given, meanTtft, chance(from));
        const admitted = given.flatMap((standing, id) => (standing === null ? [] : [id]));
        expect(chosen).toHaveLength(Math.min(3, admitted.length));
        expect(new Set(chosen).size).toBe(chosen.length);
        expect(admitted).toEqual(expect.arrayContaining(chosen));
      }),
    );
  });

  test('of two machines is the better one first', () => {
    fc.assert(
      fc.property(
        fc.tuple(fc.integer({ min: 1, max: 60_000 }), fc.nat(50)),
        fc.tuple(fc.integer({ min: 1, max: 60_000 }), fc.nat(50)),
        seed,
        ([ttftA, loadA], [ttftB, loadB], from) => {
          const [a, b] = [ttftA * (loadA + 1), ttftB * (loadB + 1)];
          const given = [
            { ewmaTtft: ttftA, inFlight: loadA },
            { ewmaTtft: ttftB, inFlight: loadB },
          ];
          const chosen = choose(given, 1, chance(from));
          fc.pre(a !== b);
          expect(chosen).toEqual(a < b ? [0, 1] : [1, 0]);
        },
      ),
    );
  });

  test('is never the worst of three or more first', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: 60_000 }), { minLength: 3, maxLength: 12 }),
        seed,
        (ttfts, from) => {
          const given = ttfts.map((ewmaTtft) => ({ ewmaTtft, inFlight: 0 }));
          const [first] = choose(given, null, chance(from));
          expect(ttfts[first ?? -1]).not.toBe(Math.max(...ttfts));
        },
      ),
    );
  });

  test('counts an unknown machine at the mean of the pool', () => {
    expect(firsts([UNKNOWN, { ewmaTtft: 300, inFlight: 0 }], 200)).toEqual([1000, 0]);
    expect(firsts([UNKNOWN, { ewmaTtft: 100, inFlight: 0 }], 200)).toEqual([0, 1000]);
  });

  test('counts an unknown machine that is loaded as many times the mean', () => {
    const loaded = { ewmaTtft: null, inFlight: 3 };
    expect(firsts([loaded, { ewmaTtft: 700, inFlight: 0 }], 200)).toEqual([0, 1000]);
    expect(firsts([loaded, { ewmaTtft: 900, inFlight: 0 }], 200)).toEqual([1000, 0]);
  });

  test('goes by what is predicted for the prompt, whatever the mean of the others is', () => {
    const quickOnShort = { ewmaTtft: 100, predictedTtft: 9000 };
    const evenOnLong = { ewmaTtft: 800, predictedTtft: 2000 };
    expect(firsts([quickOnShort, evenOnLong], 200)).toEqual([0, 1000]);
    expect(firsts([{ ewmaTtft: 100 }, { ewmaTtft: 800 }], 200)).toEqual([1000, 0]);
  });

  test('of two machines is the one that is predicted to be first, each as often as it is loaded', () => {
    const given = fc.record({
      predictedTtft: fc.integer({ min: 1, max: 60_000 }),
      inFlight: fc.nat(50),
    });
    fc.assert(
      fc.property(given, given, ttft, seed, (a, b, ewmaTtft, from) => {
        const cost = ({ predictedTtft, inFlight }: typeof a) => predictedTtft * (inFlight + 1);
        fc.pre(cost(a) !== cost(b));
        const chosen = choose([{ ...a, ewmaTtft }, b], 1, chance(from));
        expect(chosen).toEqual(cost(a) < cost(b) ? [0, 1] : [1, 0]);
      }),
    );
  });

  test('holds a prediction of nothing for the shortest time, so that load still tells', () => {
    expect(firsts([{ predictedTtft: 0, inFlight: 1 }, { predictedTtft: 0 }], 200)).toEqual([
      0, 1000,
    ]);
  });

  test('avoids the loaded one of two that are alike, however fast they are', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.constantFrom(null, 0), fc.double({ min: 0, max: 60_000, noNaN: true })),
        mean,
        fc.nat(20),
        fc.integer({ min: 1, max: 20 }),
        (ewmaTtft, meanTtft, inFlight, more) => {
          const given = [
            { ewmaTtft, inFlight: inFlight + more },
            { ewmaTtft, inFlight },
          ];
          for (const from of [0, 0.5, 0.99]) {
            expect(choose(given, meanTtft, () => from)).toEqual([1, 0]);
          }
        },
      ),
    );
  });

  test('spreads requests over machines that are alike', () => {
    for (const count of firsts([UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN], null)) {
      // 250 expected, with a standard deviation of 14.
      expect(Math.abs(count - 250)).toBeLessThan(80);
    }
  });

  test('looks at no more than four machines of ten thousand', () => {
    let looks = 0;
    const standing = (target: LocalTarget) => {
      looks += 1;
      return { target, ...UNKNOWN };
    };
    expect(chooseInOrder(targetsOf(10_000), standing, null, chance(3))).toHaveLength(3);
    expect(looks).toBeLessThanOrEqual(4);
  });
});

describe('machines that would have to load the model', () => {
  const fact = (id: string, loaded: boolean | null) => modelFacts(id, { loaded });
  const machine = (provider: string, loaded: Readonly<Record<string, boolean | null>>) => ({
    ...targetOf(0),
    provider,
    models: Object.keys(loaded),
    facts: Object.entries(loaded).map(([id, isLoaded]) => fact(id, isLoaded)),
  });

  /** The machines that are called for a model, while those in `busy` run a request. */
  function called(
    targets: readonly LocalTarget[],
    model: string,
    { busy = [], keepsModel = false }: { busy?: readonly string[]; keepsModel?: boolean } = {},
  ) {
    const request = { model, bytes: Buffer.alloc(0), endpoint: { keepsModel } };
    const deps = {
      circuits: { exclusionOf: () => null, at: () => ({ breaker: { health: { ttft: null } } }) },
      predictions: { at: () => null },
      inFlightAt: (id: string) => Number(busy.includes(id)),
      random: () => 0.5,
    };
    const pool = localPool(
      targets,
      { request, formAt: () => null, config: { local: {} } } as unknown as PoolRequest,
      deps as unknown as BalancingDeps,
    );
    return {
      first: pool.callables('in_turn').map(({ id }) => id),
      forced: pool.callables('forced').map(({ id }) => id),
      reason: pool.exclusion().reason,
    };
  }

  const warm = machine('warm', { qwen: true, gemma: false });
  const cold = machine('cold', { qwen: false, gemma: true });

  test('come after those that have it in memory, however busy these are', () => {
    expect(called([cold, warm], 'qwen').first).toEqual(['warm', 'cold']);
    expect(called([cold, warm], 'gemma').first).toEqual(['cold', 'warm']);
    expect(called([cold, warm], 'qwen', { busy: ['warm'] }).first).toEqual(['warm', 'cold']);
  });

  test('are not called while a request runs there, unless nothing else is left', () => {
    const { first, forced, reason } = called([cold], 'qwen', { busy: ['cold'] });
    expect([first, forced, reason]).toEqual([[], ['cold'], 'busy']);
    expect(called([cold, warm], 'qwen', { busy: ['cold', 'warm'] }).first).toEqual(['warm']);
  });

  test('are called for embeddings all the same, and where nobody says what is loaded', () => {
    expect(called([cold], 'qwen', { busy: ['cold'], keepsModel: true }).first).toEqual(['cold']);
    const silent = machine('silent', { qwen: null });
    expect(called([silent], 'qwen', { busy: ['silent'] }).first).toEqual(['silent']);
  });
});
