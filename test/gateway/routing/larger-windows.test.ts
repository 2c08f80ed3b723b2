import type { EngineKind } from '#shared/engines.ts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { modelFacts } from '../../../main/engines/models.ts';
import { createMemory } from '../../../main/gateway/memory/memory.ts';
import { windowReports, withCopy, withoutCopy } from '../../../main/gateway/routing/windows.ts';
import { targetAt } from '../../support/targets.ts';
import { createManualClock } from '../../support/clock.ts';

const MODEL = 'qwen3:8b';
const GB = 1024 ** 3;
/** 144 KiB for each token: 9 GiB for 65,536. */
const FACTS = modelFacts(MODEL, {
  loaded: true,
  context_length: 4096,
  max_context_length: 262_144,
  context_token_bytes: 147_456,
  size_bytes: 5 * GB,
});

/** What is said of a model for which a prompt was too long. */
function remedyAt(kind: EngineKind | null, memoryGb: number | null = null, facts = FACTS) {
  const memory = createMemory(createManualClock());
  memory.of('local').set('too_long', MODEL, true);
  const address = { origin: 'http://127.0.0.1:1', basePath: '', authorization: null };
  const memoryBytes = memoryGb === null ? null : memoryGb * GB;
  const target = targetAt('http://127.0.0.1:1', { models: [MODEL], facts: [facts] });
  const engineAt = () => (kind === null ? null : { kind, address, memoryBytes });
  return windowReports({ kind: 'target', target }, { memory, engineAt, pairs: [] })[0]?.remedy;
}

const copy = (tokens: number) => ({ kind: 'copy', tokens, isMost: false });

test.each([
  [16, copy(65_536)],
  [12, copy(32_768)],
  [null, copy(65_536)],
])('the copy of a model of 5 GB on a GPU of %s GB has as many tokens as fit', (memory, remedy) => {
  expect(remedyAt('ollama', memory)).toEqual(remedy);
});

test.each<[EngineKind | null, string]>([
  ['llama.cpp', '-c 65536'],
  ['vllm', '--max-model-len 65536'],
  ['sglang', '--context-length 65536'],
  ['lmstudio', '--context-length 65536'],
  [null, 'larger context window'],
])('the owner learns what to set for a small window of %s', (kind, setting) => {
  const remedy = remedyAt(kind);
  expect(remedy).toEqual({ kind: 'setting', text: expect.stringContaining(setting) as string });
});

test('the owner learns of no larger window than the model takes, and of none where that is reached', () => {
  expect(remedyAt('ollama', 8)).toMatchObject({ kind: 'setting' });
  const remedy = remedyAt('llama.cpp', null, { ...FACTS, max_context_length: 40_960 });
  expect(JSON.stringify(remedy)).toContain('-c 40960');
  expect(remedyAt('ollama', null, { ...FACTS, max_context_length: 4096 })).toBeUndefined();
});

test('removing a copy leaves the aliases as they were before it was made', () => {
  const made = { model: 'llama3:latest', copy: 'llama3:latest-64k' };
  const name = fc.constantFrom('a', 'b*', 'claude-*', 'gpt-4o');
  const to = fc.constantFrom('mini', 'llama3:latest');
  const pairs = fc
    .uniqueArray(fc.tuple(name, to), { selector: ([each]) => each })
    .map((all) => all.map((pair) => pair.join('=')));
  fc.assert(
    fc.property(pairs, (before) => {
      const after = withCopy(before, made);
      expect(after).toContain('llama3=llama3:latest-64k');
      expect(withoutCopy(after, made)).toEqual(before);
    }),
  );
});
