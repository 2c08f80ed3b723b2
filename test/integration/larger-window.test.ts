import { expect, test } from 'vitest';
import { chat, expectServed } from '../support/client.ts';
import { startOllama } from '../support/ollama.ts';
import { startBefore } from '../support/scene.ts';
import { answers } from '../support/upstream.ts';
import { at } from '../support/words.ts';

const MODEL = 'qwen3:8b';
const COPY = 'qwen3:8b-64k';
/** Some 16,000 tokens, for a name that no engine has. */
const LONG = {
  model: 'claude-sonnet-4-5',
  messages: [{ role: 'user', content: 'bakery '.repeat(9000) }],
};

/** A gateway whose Ollama has met a prompt that is too long for it. */
async function started(contextLength: number, settings: Readonly<Record<string, string>> = {}) {
  const ollama = await startOllama({ [MODEL]: { contextLength } });
  const { gateway } = await startBefore(
    { a: answers('a') },
    { ...at({ local: ollama.url }), HOSTED_A_MODEL: 'mini', ...settings },
  );
  const modelAt = () => fetch(`${gateway.url}/v1/models/${MODEL}`);
  await expect.poll(async () => (await modelAt()).status).toBe(200);
  await chat(gateway.url, { ...LONG, messages: [{ role: 'user', content: 'hi' }] });
  await expect.poll(async () => (await modelAt()).json()).toMatchObject({ context_length: 4096 });
  expectServed(await chat(gateway.url, LONG), 'hosted_a', 'local=context_length');
  const post = async (path: string, body: object) => {
    const { status, text } = await gateway.post(path, body);
    return { status, body: JSON.parse(text) as unknown };
  };
  const windows = async () => (await gateway.status()).local.windows;
  const aliases = async () => (await gateway.settings())['routing']?.['modelAliases']?.value;
  return { ...gateway, ollama, post, windows, aliases };
}

const small = (tokens: number, isMost: boolean) => [
  { model: MODEL, tokens: 4096, remedy: { kind: 'copy', tokens, isMost } },
];

test('a prompt that is too long for an Ollama model offers a copy, which then reads it, until the copy is removed', async () => {
  const gateway = await started(262_144);
  const { url, ollama, post, windows, aliases } = gateway;
  await gateway.set({ routing: { modelAliases: ['fast=qwen3:8b', 'other=mini'] } });
  expect(await windows()).toEqual(small(65_536, false));
  expect(await post('windows', { model: MODEL })).toEqual({
    status: 200,
    body: { model: MODEL, copy: COPY },
  });
  expect(ollama.models.get(COPY)).toEqual({ contextLength: 262_144, numCtx: 65_536 });
  expect(await aliases()).toEqual([`fast=${COPY}`, 'other=mini', `${MODEL}=${COPY}`]);
  expect(await windows()).toEqual([
    { model: MODEL, tokens: 65_536, remedy: { kind: 'made', copy: COPY } },
  ]);
  for (const model of [LONG.model, MODEL, 'fast'])
    expectServed(await chat(url, { ...LONG, model }), 'local');
  expect(ollama.loaded).toBe(COPY);

  expect((await post('windows/undo', { copy: COPY })).status).toBe(200);
  expect([...ollama.models.keys()]).toEqual([MODEL]);
  expect(await aliases()).toEqual([`fast=${MODEL}`, 'other=mini']);
});

test('a copy of a model that cannot read as much has the most that it can', async () => {
  const { ollama, post, windows } = await started(40_960);
  expect(await windows()).toEqual(small(40_960, true));
  await post('windows', { model: MODEL });
  expect(ollama.models.get('qwen3:8b-40k')?.numCtx).toBe(40_960);
});

test('a copy is not made if nobody needs it, it cannot be named, or Ollama refuses; then no alias is left', async () => {
  const held = await started(262_144, { MODEL_ALIASES: 'a=b' });
  expect(await held.post('windows', { model: MODEL })).toMatchObject({
    status: 409,
    body: { error: { code: 'set_by_environment' } },
  });
  expect([...held.ollama.models.keys()]).toEqual([MODEL]);

  const { ollama, post, aliases } = await started(262_144);
  expect((await post('windows', { model: 'mini' })).status).toBe(409);
  ollama.models.clear();
  expect(await post('windows', { model: MODEL })).toMatchObject({
    status: 502,
    body: { error: { message: expect.stringContaining("model 'qwen3:8b' not found") as string } },
  });
  expect(await aliases()).toEqual([]);
});

test('removing a copy removes nothing but copies', async () => {
  const gateway = await started(262_144);
  const { ollama, post } = gateway;
  await gateway.set({ routing: { modelAliases: [`mine=${MODEL}`] } });
  expect((await post('windows/undo', { copy: MODEL })).status).toBe(404);
  expect([...ollama.models.keys()]).toEqual([MODEL]);
});
