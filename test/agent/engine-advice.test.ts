import { expect, test } from 'vitest';
import type { ModelFacts } from '#shared/models.ts';
import { engineAdvice, type WindowCut } from '../../main/agent/problems.ts';

const MODEL: ModelFacts = {
  id: 'qwen3',
  use: 'chat',
  loaded: true,
  vision: null,
  tools: null,
  context_length: 65_536,
  size_bytes: null,
};

function adviceFor(model: Partial<ModelFacts>, cuts: readonly WindowCut[] = []) {
  const engine = { kind: 'ollama', baseUrl: 'http://127.0.0.1:11434' } as const;
  const advice = engineAdvice({ ...engine, facts: [{ ...MODEL, ...model }] }, cuts);
  return advice.map(({ tool, happened, remedy }) => `${tool}: ${happened}. ${remedy}`);
}

test('a context window too small for coding agents is a problem, with a setting that the model takes', () => {
  expect(adviceFor({ context_length: 4096 })).toEqual([
    'Ollama: it serves 4,096 tokens; coding agents need 32,000 or more. Set OLLAMA_CONTEXT_LENGTH=65536 and restart it.',
  ]);
  const [advice] = adviceFor({ context_length: 4096, max_context_length: 40_960 });
  expect(advice).toContain('OLLAMA_CONTEXT_LENGTH=40960');
  expect(adviceFor({ context_length: 4096, max_context_length: 8192 })).toEqual([]);
  const others = [{}, { loaded: false }, { use: 'embedding' as const }, { context_length: null }];
  for (const other of others) expect(adviceFor({ context_length: 32_000, ...other })).toEqual([]);
});

test('a model that Ollama runs on the processor although there is a GPU is a problem', () => {
  expect(adviceFor({ vram_bytes: 0 })).toEqual([
    expect.stringMatching(/^Ollama: it runs qwen3 on the processor, not on the GPU\. Restart it\./),
  ]);
  expect(adviceFor({ vram_bytes: 1_000_000 })).toEqual([]);
});
