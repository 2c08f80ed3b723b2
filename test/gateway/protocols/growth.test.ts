import { expect, test } from 'vitest';
import { countSteps, TIMES } from '../../support/steps.ts';
import { WORKS } from './growing-works.ts';

const counted = await countSteps(import.meta.resolve('./growing-works.ts'));

test.each(Object.keys(WORKS))(
  'the work grows with the size and not with its square: %s',
  (name) => {
    const { few = 0, many = Infinity } = counted.get(name) ?? {};
    expect(few).toBeGreaterThan(1000);
    expect(many / few).toBeLessThan(TIMES + 1);
  },
);
