import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createHedgeBudget, type HedgeBudget } from '../../../main/gateway/routing/hedging.ts';

/** So many are allowed whatever the share is. */
const AT_LEAST = 3;

/** Requests that come in and are each hedged as often as they may be, up to `most` times; says how often. */
function hedgedOf(
  budget: HedgeBudget,
  requests: number,
  percent: number,
  most = Number.POSITIVE_INFINITY,
): number[] {
  return Array.from({ length: requests }, () => {
    budget.requested();
    let count = 0;
    for (; count < most && budget.allows(percent, AT_LEAST); count += 1) budget.spend();
    return count;
  });
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

const action = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('requests'), count: fc.integer({ min: 1, max: 90 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('hedge'), count: fc.integer({ min: 1, max: 12 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('set'),
      percent: fc.double({ min: 0, max: 100, noNaN: true }),
    }),
  },
);

/** The same budget as a list of what the last 200 requests spent. */
function createNaive() {
  let last: readonly number[] = [];
  return {
    requested: () => void (last = [...last, 0].slice(-200)),
    allows: (percent: number, _atLeast: number) =>
      percent > 0 && sum(last) < Math.max(AT_LEAST, Math.floor((last.length * percent) / 100)),
    spend: () => void (last = [...last.slice(0, -1), (last.at(-1) ?? 0) + 1]),
  };
}

test('a hedge budget allows what a list of the last 200 requests would', () => {
  const property = fc.property(fc.array(action, { maxLength: 60, size: 'max' }), (actions) => {
    const budgets = [createHedgeBudget(), createNaive()];
    const [answers, expected] = budgets.map((budget) => {
      let percent = 5;
      budget.requested();
      return actions.flatMap((step) => {
        if (step.kind === 'set') ({ percent } = step);
        if (step.kind === 'requests') for (let n = 0; n < step.count; n += 1) budget.requested();
        if (step.kind !== 'hedge') return [];
        return Array.from({ length: step.count }, () => {
          const isAllowed = budget.allows(percent, AT_LEAST);
          if (isAllowed) budget.spend();
          return isAllowed;
        });
      });
    });
    expect(answers).toEqual(expected);
  });
  fc.assert(property, { numRuns: 200 });
});

test('no more of any 200 requests in a row are hedged than the share, or the three that always may be', () => {
  const property = fc.property(
    fc.integer({ min: 1, max: 100 }),
    fc.integer({ min: 1, max: 3 }),
    fc.integer({ min: 1, max: 700 }),
    (percent, most, requests) => {
      const hedged = hedgedOf(createHedgeBudget(), requests, percent, most);
      for (let end = 1; end <= requests; end += 1) {
        const spent = sum(hedged.slice(Math.max(0, end - 200), end));
        expect(spent).toBeLessThanOrEqual(Math.max(AT_LEAST, Math.floor((200 * percent) / 100)));
      }
      expect(sum(hedged)).toBeGreaterThan(0);
    },
  );
  fc.assert(property, { numRuns: 60 });
});
