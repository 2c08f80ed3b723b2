import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMemory } from '../../../main/gateway/memory/memory.ts';
import type { PromptChain } from '../../../main/gateway/protocols/prompt-chain.ts';
import { cachedPrefix, notePrompt, noteReuse } from '../../../main/gateway/routing/lessons.ts';
import { createManualClock } from '../../support/clock.ts';

/** A prompt of messages of 100 bytes, by the keys of its prefixes. */
function prompt(keys: readonly number[]): PromptChain {
  const lengths = keys.map((_, at) => (at + 1) * 100);
  const bytes = keys.length * 100;
  const unused = { tools: 0, anchors: [], behind: () => null, hasAnswer: () => false };
  return { keys, lengths, session: null, bytes, ...unused };
}

function machine() {
  const clock = createManualClock();
  const known = createMemory(clock).of('prv_a');
  const read = (of: PromptChain) => {
    notePrompt(known, of, { model: 'm', readAt: clock.ticks() });
    clock.advance(1000);
  };
  return { known, read, at: (of: PromptChain) => cachedPrefix(known, of) };
}

const reported = (cached: number) => ({ input: 1000, cached, output: 1, estimated: false });

test('prefixes that are older than one that the machine has lost are lost as well', () => {
  const { known, read, at } = machine();
  const [oldest, lost, newer] = [prompt([1, 2]), prompt([3, 4]), prompt([5, 6])];
  for (const each of [oldest, lost, newer]) read(each);
  const next = prompt([3, 4, 7]);
  const before = at(next);
  read(next);
  expect(noteReuse(known, before, reported(0))).toBeNull();
  expect(at(oldest).bytes).toBe(200);
  expect(noteReuse(known, before, reported(10))).toBe(0.01);
  expect([oldest, newer, next].map((each) => at(each).bytes)).toEqual([0, 200, 300]);
});

test('the cached prefix is what a plain list of all prompts gives, whatever is read', () => {
  const keys = fc.array(fc.nat(3), { minLength: 1, maxLength: 6 });
  /** A key says all that is before it. */
  const chained = (given: readonly number[]) =>
    given.map((_, at) => Number(`1${given.slice(0, at + 1).join('')}`));
  fc.assert(
    fc.property(fc.array(keys, { maxLength: 30 }), keys, (prompts, asked) => {
      const { read, at } = machine();
      for (const given of prompts) read(prompt(chained(given)));
      const had = new Set(prompts.flatMap(chained));
      const expected = chained(asked).filter((key) => had.has(key)).length * 100;
      expect(at(prompt(chained(asked))).bytes).toBe(expected);
    }),
  );
});
