import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isHeavyJson } from '../../main/platform/json.ts';

test('the weight of a JSON text is its values and twice its names, and nothing for the contents of strings', () => {
  const weigh = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 0;
    const inner = Object.values(value);
    const own = 1 + Math.max(0, inner.length - 1) + (Array.isArray(value) ? 0 : 2 * inner.length);
    return inner.reduce<number>((sum, each) => sum + weigh(each), own);
  };
  const text = fc.oneof(
    fc.jsonValue(),
    fc.array(fc.string({ unit: fc.constantFrom('"', '\\', 'a', ',', '['), maxLength: 90 })),
  );
  fc.assert(
    fc.property(text, (value) => {
      const spelled = JSON.stringify(value);
      const weight = weigh(JSON.parse(spelled));
      expect(isHeavyJson(spelled, Math.max(0, weight - 1))).toBe(weight > 0);
      expect(isHeavyJson(spelled, weight)).toBe(false);
    }),
    { numRuns: 400 },
  );
});
