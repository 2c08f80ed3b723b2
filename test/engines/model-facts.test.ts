import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { ModelFacts } from '#shared/models.ts';
import type { EngineMemory } from '../../main/engines/adapters/probe.ts';
import { lookAt } from '../../main/engines/detect.ts';
import {
  modelFacts,
  useByName,
  byPreference,
  isForChat,
  standIn,
} from '../../main/engines/models.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { createHttpClient } from '../../main/platform/http/client.ts';
import { listed, ok, type Route, startEngine } from '../agent/fake-engine.ts';

/** What an engine with these answers says of its models, by id. */
async function factsOf(routes: Readonly<Record<string, Route>>) {
  const engine = await startEngine(routes);
  const http = createHttpClient();
  onTestFinished(() => http.close());
  const memory: EngineMemory = new Map();
  const address = { origin: engine.url, basePath: '', authorization: null };
  const read = async () => {
    const seen = await lookAt(address, false, { http, clock: systemClock, memory });
    if (seen.kind !== 'found') throw new Error(`It was ${seen.kind}.`);
    return Object.fromEntries(seen.found.detail.facts.map(({ id, ...facts }) => [id, facts]));
  };
  return { engine, read };
}

const OLLAMA = { '/': 'Ollama is running', '/api/version': ok({ version: '0.30.2' }) };

test('an older Ollama is asked once about each version of a model, by a call that loads none', async () => {
  const models = [{ name: 'mini:latest', digest: 'sha256:1' }];
  const { engine, read } = await factsOf({
    ...OLLAMA,
    '/v1/models': listed('library', 'mini:latest'),
    '/api/tags': ok({ models }),
    '/api/ps': ok({ models: [] }),
    // As in ollama/ollama#10305.
    '/api/show': ok({ capabilities: ['embedding'] }),
  });
  const posts = () => engine.asked.filter((line) => line.startsWith('POST'));
  expect(await read()).toMatchObject({ 'mini:latest': { use: 'embedding' } });
  await read();
  expect(posts()).toEqual(['POST /api/show']);
  const pulled = ok({ models: [{ name: 'mini:latest', digest: 'sha256:2' }] });
  engine.routes = { ...engine.routes, '/api/tags': pulled };
  await read();
  expect(posts()).toHaveLength(2);
});

test('a llama.cpp router shows in a model’s arguments what it is for and how long a prompt may be', async () => {
  const entry = (id: string, ...args: readonly string[]) => ({
    id,
    owned_by: 'llamacpp',
    status: { value: 'unloaded', args },
    architecture: { input_modalities: ['text'] },
  });
  const { read } = await factsOf({
    '/health': ok({ status: 'ok' }),
    '/v1/models': ok({
      data: [
        entry('a', '--ctx-size', '2048'),
        entry('b', '--embedding'),
        entry('c', '--reranking', '--ctx-size', '0'),
      ],
    }),
  });
  expect(await read()).toMatchObject({
    a: { use: null, loaded: false, vision: false, context_length: 2048 },
    b: { use: 'embedding', context_length: null },
    c: { use: 'rerank', context_length: null },
  });
});

test.each([
  ['nomic-embed-text:latest', 'embedding'],
  ['mxbai-embed-large', 'embedding'],
  ['BAAI/bge-m3', 'embedding'],
  ['all-minilm:33m', 'embedding'],
  ['Qwen/Qwen3-Embedding-8B', 'embedding'],
  ['embeddinggemma', 'embedding'],
  ['intfloat/multilingual-e5-large', 'embedding'],
  ['thenlper/gte-large', 'embedding'],
  ['BAAI/bge-reranker-v2-m3', 'rerank'],
  ['Qwen3-Reranker-0.6B', 'rerank'],
  ['openai/whisper-large-v3', 'other'],
  ['qwen3:4b', null],
  ['gpt-oss:20b', null],
  ['embedded-coder:7b', null],
  ['meta-llama/Llama-3.1-8B-Instruct', null],
  ['google/gemma-3-27b-it', null],
])('the model name %s shows the use %s', (name, use) => {
  expect(useByName(name)).toBe(use);
});

const GB = 1e9;
const NOTHING_USED = { lastUsed: null, memoryBytes: 24 * GB };
const order = (models: readonly ModelFacts[], known = NOTHING_USED as Circumstances) =>
  byPreference(models, known).map(({ id }) => id);
type Circumstances = Parameters<typeof byPreference>[1];

const chatting = (id: string, more: Partial<ModelFacts> = {}) =>
  modelFacts(id, { use: 'chat', loaded: false, ...more });

const EMBEDDER = chatting('e', { use: 'embedding', loaded: true });

test('an unknown name goes to the loaded chat model, then the last used, then the largest that fits', () => {
  const models = [
    EMBEDDER,
    chatting('small', { size_bytes: 2 * GB }),
    chatting('huge', { size_bytes: 60 * GB }),
    chatting('large', { size_bytes: 15 * GB }),
    chatting('loaded', { loaded: true, size_bytes: 1 * GB }),
  ];
  expect(order(models, { ...NOTHING_USED, lastUsed: 'small' })).toEqual([
    'loaded',
    'small',
    'large',
    'huge',
    'e',
  ]);
  expect(order(models.slice(0, 4))).toEqual(['large', 'small', 'huge', 'e']);
});

test('an unknown name goes with a picture or tools to a model that takes them, if there is one', () => {
  const models = [
    chatting('text', { loaded: true, vision: false, tools: true }),
    chatting('eyes', { vision: true, tools: false }),
  ];
  const chosen = (vision: boolean, tools: boolean) =>
    standIn(models, () => ({ vision, tools }))?.id;
  expect([chosen(false, false), chosen(true, false), chosen(false, true)]).toEqual([
    'text',
    'eyes',
    'text',
  ]);
  expect(standIn([EMBEDDER], () => ({ vision: false, tools: false }))).toBeNull();
});

test('an unknown name never goes to an embedder or reranker, whatever the order of the list', () => {
  const model = fc.record({
    use: fc.constantFrom('chat', 'embedding', 'rerank', 'other', null),
    loaded: fc.constantFrom(true, false, null),
    vision: fc.constantFrom(true, false, null),
    tools: fc.constantFrom(true, false, null),
    size_bytes: fc.option(fc.integer({ min: 1, max: 100 * GB })),
  });
  const circumstances = fc.record({
    lastUsed: fc.option(fc.constantFrom('0', '1', '2')),
    memoryBytes: fc.option(fc.constantFrom(8 * GB, 80 * GB)),
  });
  const needs = fc.record({ vision: fc.boolean(), tools: fc.boolean() });
  fc.assert(
    fc.property(fc.array(model, { maxLength: 8 }), circumstances, needs, (all, known, needed) => {
      const models = all.map((each, at) => modelFacts(String(at), each));
      const chosen = standIn(byPreference(models, known), () => needed);
      expect(chosen === null || isForChat(chosen)).toBe(true);
      expect(chosen === null).toBe(!models.some(isForChat));
    }),
  );
});
