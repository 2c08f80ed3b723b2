import { describe, expect, test } from 'vitest';
import { PRESETS, savedListPrice } from '../../renderer/features/setup/hosted-form.tsx';
import { LISTED, listPriceOf } from '../../renderer/features/setup/list-prices.ts';
import { viewOf } from './settings-builders.ts';

describe('list prices', () => {
  test('list prices are of services that can be chosen, cost something, and less from a cache', () => {
    for (const { service, model } of LISTED) {
      const price = listPriceOf(service, model);
      expect([service, PRESETS.some(({ name }) => name === service)]).toEqual([service, true]);
      if (price === null) throw new Error(model);
      const { input, output, cached } = price;
      expect([model, input > 0 && output >= input]).toEqual([model, true]);
      expect([model, cached === null || (cached > 0 && cached < input)]).toEqual([model, true]);
    }
  });

  test('list prices say where they stood and on which day', () => {
    for (const { service, model } of LISTED) {
      const { source = '', readOn = '' } = listPriceOf(service, model) ?? {};
      expect([source, readOn]).toEqual([
        expect.stringMatching(/^\S+\.\S+$/),
        expect.stringMatching(/^20\d{2}-\d{2}-\d{2}$/),
      ]);
    }
  });

  test('a saved upstream has the list price of its service and model, in dollars alone', () => {
    const of = (env: Readonly<Record<string, string>>) => {
      const saved = { HOSTED_A_BASE_URL: 'https://api.openai.com/v1', HOSTED_A_MODEL: 'gpt-4o' };
      const named = Object.entries({ ...saved, ...env });
      const view = viewOf(Object.fromEntries(named.map(([key, to]) => [`INGLENOOK_${key}`, to])));
      return savedListPrice({ kind: 'read', view }, 'hosted_a');
    };
    expect(of({})).toEqual(listPriceOf('OpenAI', 'gpt-4o'));
    expect(of({ CURRENCY: 'EUR' })).toBeNull();
    expect(of({ HOSTED_A_BASE_URL: 'http://127.0.0.1:1/v1' })).toBeNull();
  });

  test.each([
    ['OpenAI', 'gpt-4o-2024-08-06', 2.5],
    ['OpenAI', 'gpt-4o-2024-05-13', 5],
    ['Anthropic', 'claude-haiku-4-5-20251001', 1],
    ['OpenAI', 'gpt-4o-audio-preview-2024-10-01', null],
    ['Mistral', 'mistral-large-latest', null],
    ['Groq', 'gpt-4o', null],
    ['DeepSeek', 'deepseek-chat', null],
    ['OpenAI', 'constructor', null],
    ['constructor', 'gpt-4o', null],
    ['OpenAI', '', null],
  ])('the list price at %s of %s is %s', (service, model, input) => {
    expect(listPriceOf(service, model)?.input ?? null).toBe(input);
  });
});
