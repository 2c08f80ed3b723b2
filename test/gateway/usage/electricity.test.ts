import { expect, test } from 'vitest';
import { energyFigures } from '../../../main/gateway/usage/recorder.ts';

const ENERGY = {
  idle_w: 28,
  models: [
    { model: 'qwen3', joules: 3000, tokens: 1000 },
    { model: 'new', joules: 90, tokens: 49 },
  ],
};

const call = (model: string, output: number) => ({
  model,
  tokens: { input: 5000, output, cached: 0, estimated: false },
});

test('the electricity of a call is its tokens times their energy, at the price of a kilowatt-hour', () => {
  // 1,200,000 tokens of 3 J are one kilowatt-hour.
  const figures = energyFigures(call('qwen3', 1_200_000), ENERGY, 0.3);
  expect(figures).toEqual({ energyMj: 3_600_000_000, energyNano: 300_000_000 });
});

test('the energy of a token is known from fifty tokens on, for that model only', () => {
  const unknown = { energyMj: 0, energyNano: 0 };
  expect(energyFigures(call('new', 9), ENERGY, 0.3)).toEqual(unknown);
  expect(energyFigures(call('other', 9), ENERGY, 0.3)).toEqual(unknown);
  expect(energyFigures(call('qwen3', 9), null, 0.3)).toEqual(unknown);
});
