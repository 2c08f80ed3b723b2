import { expect, test } from 'vitest';
import { energyFigures, joulesPerTokenIn } from '../../../main/gateway/usage/recorder.ts';

const ENERGY = {
  idle_w: 28,
  models: [
    { model: 'qwen3', joules: 3000, tokens: 1000 },
    { model: 'new', joules: 90, tokens: 49 },
  ],
};

const call = (provider: string | null, output: number | null) => ({
  provider,
  model: 'qwen3',
  tokens: output === null ? null : { input: 5000, output, cached: 0, estimated: false },
});

const rate = () => 3;

test('the electricity of a call is its tokens times their energy, at the price of a kilowatt-hour', () => {
  // 1,200,000 tokens of 3 J are one kilowatt-hour.
  const figures = energyFigures(call('prv', 1_200_000), rate, 0.3);
  expect(figures).toEqual({ energyMj: 3_600_000_000, energyNano: 300_000_000 });
});

test('the energy of a token is known from fifty tokens on, for that model only', () => {
  expect(joulesPerTokenIn(ENERGY, 'qwen3')).toBe(3);
  expect(joulesPerTokenIn(ENERGY, 'new')).toBeNull();
  expect(joulesPerTokenIn(ENERGY, 'other')).toBeNull();
  expect(joulesPerTokenIn(null, 'qwen3')).toBeNull();
});
