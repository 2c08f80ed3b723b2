import { expect, test } from 'vitest';
import type { AgentEnergy } from '#shared/agent.ts';
import { breakEven, electricityFacts } from '../../renderer/features/this-machine/agent-text.ts';

const ENERGY: AgentEnergy = {
  watts: 210,
  idleWatts: 28,
  isNet: true,
  models: [{ model: 'qwen3', joules: 29_000, tokens: 10_000 }],
  priceKwh: 0.3,
  currency: 'EUR',
};

test('idle power is shown with its cost in a day, and a token with the price from which it pays', () => {
  expect(electricityFacts(ENERGY)).toEqual([
    { label: 'GPU when idle', value: '28 W: 0.67 kWh a day, 0.202 EUR' },
    {
      label: 'A token of qwen3',
      value: '2.9 J: pays above 0.242 EUR for a million hosted output tokens',
    },
  ]);
});

test('electricity is shown without amounts if there is no price, and not at all before a measurement', () => {
  expect(electricityFacts({ ...ENERGY, priceKwh: null }).map(({ value }) => value)).toEqual([
    '28 W: 0.67 kWh a day',
    '2.9 J',
  ]);
  const models = [{ model: 'qwen3', joules: 100, tokens: 49 }];
  expect(electricityFacts({ ...ENERGY, idleWatts: null, models })).toEqual([]);
});

test('electricity that includes idle power is marked so', () => {
  const [gross] = electricityFacts({ ...ENERGY, idleWatts: null, isNet: false });
  expect(gross?.label).toBe('A token of qwen3, idle power included');
});

test('a kilowatt-hour for a million tokens pays from the price of a kilowatt-hour', () => {
  expect(breakEven(3.6, 0.4)).toBeCloseTo(0.4, 12);
});
