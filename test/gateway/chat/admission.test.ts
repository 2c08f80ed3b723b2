import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFairQueue } from '../../../main/gateway/chat/admission.ts';

type Step =
  | { readonly kind: 'push'; readonly caller: string }
  | { readonly kind: 'shift' }
  | { readonly kind: 'remove'; readonly at: number };

const BOUNDS = { total: 12, perCaller: 5 };

const caller = fc.constantFrom('a', 'b', 'c');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('push'), caller }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'shift' }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove'), at: fc.nat(20) }) },
);

interface Waiting {
  readonly caller: string;
  readonly n: number;
}

/** Plays the steps on a queue and on a list; what they disagree about is in `said` and `expected`. */
function play(steps: readonly Step[]) {
  const queue = createFairQueue<Waiting>(BOUNDS);
  const said: unknown[] = [];
  const expected: unknown[] = [];
  let waiting: readonly Waiting[] = [];
  for (const [n, each] of steps.entries()) {
    if (each.kind === 'push') {
      const item = { caller: each.caller, n };
      const own = waiting.filter((other) => other.caller === each.caller);
      const hasRoom = waiting.length < BOUNDS.total && own.length < BOUNDS.perCaller;
      said.push(queue.push(each.caller, item));
      expected.push(hasRoom);
      if (hasRoom) waiting = [...waiting, item];
    } else if (each.kind === 'shift') {
      const served = queue.shift();
      said.push(served);
      // Whose turn it is the list does not know, but who is first of those.
      expected.push(waiting.find((other) => other.caller === served?.caller));
      waiting = waiting.filter((other) => other !== served);
    } else {
      const item = waiting[each.at];
      if (item !== undefined) queue.remove(item.caller, item);
      waiting = waiting.filter((other) => other !== item);
    }
    said.push(queue.size());
    expected.push(waiting.length);
  }
  return { queue, waiting, said, expected };
}

test('a caller’s requests keep their order, none is lost, and each caller has a turn before any has two', () => {
  const property = fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
    const { queue, waiting, said, expected } = play(steps);
    expect(said).toEqual(expected);
    const callers = new Set(waiting.map((item) => item.caller));
    const turn = Array.from(callers, () => queue.shift()?.caller);
    expect(new Set(turn)).toEqual(callers);
  });
  fc.assert(property, { numRuns: 1000 });
});
