import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type PromptChain, hashIsReady } from '../../../main/gateway/protocols/prompt-chain.ts';
import { createPrefixes } from '../../../main/gateway/routing/prefixes.ts';
import { chance } from '../../support/chance.ts';
import { createManualClock } from '../../support/clock.ts';

await hashIsReady;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const HOUR_MS = 3_600_000;
const [A, B] = ['prv_a', 'prv_b'];

/** A prompt of messages of 100 bytes, by the keys of its prefixes. */
function prompt(keys: readonly number[], session: number | null = null): PromptChain {
  const lengths = keys.map((_, at) => (at + 1) * 100);
  return { keys, lengths, session, bytes: keys.length * 100 };
}

function create() {
  const clock = createManualClock();
  return { clock, prefixes: createPrefixes(clock) };
}

const told = (cached: number, input = 1000) => ({ input, cached, output: 1, estimated: false });

describe('the prefixes that machines have', () => {
  test('the prefixes of a machine count as one conversation however often it goes on, with the latest keys', () => {
    const { prefixes } = create();
    for (let turn = 1; turn <= 200; turn += 1)
      prefixes.read(A, prompt(Array.from({ length: turn }, (_, at) => at)));
    expect(prefixes.countAt(A)).toBe(1);
    const all = Array.from({ length: 201 }, (_, at) => at);
    expect(prefixes.at(A, prompt(all)).bytes).toBe(20_000);
    const edited = [...all.slice(0, 150), 999];
    expect(prefixes.at(A, prompt(edited)).bytes).toBe(15_000);
    expect(prefixes.at(A, prompt([...all.slice(0, 50), 999])).bytes).toBe(100);
  });

  test('the prefixes of a machine are forgotten after an hour without a turn', () => {
    const { clock, prefixes } = create();
    prefixes.read(A, prompt([1, 2]));
    clock.advance(HOUR_MS);
    expect(prefixes.at(A, prompt([1, 2])).bytes).toBe(200);
    clock.advance(1);
    expect(prefixes.at(A, prompt([1, 2])).bytes).toBe(0);
  });

  test('prefixes that are older than one that the machine has lost are lost as well', () => {
    const { clock, prefixes } = create();
    const [oldest, lost, newer] = [prompt([1, 2]), prompt([3, 4]), prompt([5, 6])];
    for (const each of [oldest, lost, newer]) {
      prefixes.read(A, each);
      clock.advance(1000);
    }
    const next = prompt([3, 4, 7]);
    const before = prefixes.at(A, next);
    prefixes.read(A, next);
    expect(prefixes.told(A, before, told(0))).toBeNull();
    expect(prefixes.at(A, oldest).bytes).toBe(200);
    expect(prefixes.told(A, before, told(10))).toBe(0.01);
    expect(prefixes.at(A, oldest).bytes).toBe(0);
    expect(prefixes.at(A, newer).bytes).toBe(200);
    expect(prefixes.at(A, next).bytes).toBe(300);
  });

  test('the cached prefix is what a plain list of all prompts gives, whatever is read', () => {
    const keys = fc.array(fc.nat(3), { minLength: 1, maxLength: 6 });
    const turn = fc.tuple(fc.constantFrom(A, B), keys);
    /** A key says all that is before it. */
    const chained = (given: readonly number[]) =>
      given.map((_, at) => Number(`1${given.slice(0, at + 1).join('')}`));
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 30 }), keys, (turns, asked) => {
        const { prefixes } = create();
        for (const [id, given] of turns) prefixes.read(id, prompt(chained(given)));
        for (const id of [A, B]) {
          const had = new Set(turns.flatMap(([at, given]) => (at === id ? chained(given) : [])));
          const expected = chained(asked).filter((key) => had.has(key)).length * 100;
          expect(prefixes.at(id, prompt(chained(asked))).bytes).toBe(expected);
        }
      }),
    );
  });

  test('the prefixes take no more memory where an app gives each request another session', () => {
    const { prefixes } = create();
    const random = chance(6);
    function play(count: number): number {
      for (let n = 0; n < count; n += 1) prefixes.read(A, prompt([1, 2], random() * 2 ** 50));
      collect();
      return process.memoryUsage().heapUsed;
    }
    const some = play(1000);
    expect(play(200_000) - some).toBeLessThan(2 * 1024 * 1024);
    expect(prefixes.countAt(A)).toBe(1);
  });
});
