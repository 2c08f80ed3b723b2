import { describe, expect, test } from 'vitest';
import { PRESETS } from '../../renderer/features/setup/hosted-form.tsx';
import { LISTED, listPriceOf } from '../../renderer/features/setup/list-prices.ts';

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
