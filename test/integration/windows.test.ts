import { expect, test } from 'vitest';
import { chat, chatStream, expectServed } from '../support/client.ts';
import { createKeptLog } from '../support/log.ts';
import { systemClock } from '../../main/platform/clock.ts';
import { answers, chunk, completion, DONE, json, lists, sse, STOP } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';
import { usageChunk, usageOf } from '../support/usage.ts';
import { startOllama } from '../support/ollama.ts';
import { at } from '../support/words.ts';

/*
 * An Ollama that serves 4,096 tokens reads that much of a longer prompt and answers with a 200
 * (github.com/ollama/ollama/issues/4967; reports of `prompt_tokens` 2051 for 87 KB in DeepSeek-Reasonix PR 10245).
 */

const cutting = json(200, { ...completion('I see no question.'), usage: usageOf(4096, 5) });
const long = (count: number) => ({
  messages: [{ role: 'user', content: 'bakery '.repeat(count) }],
});

async function started(settings: Readonly<Record<string, string>> = {}) {
  const { log, lines } = createKeptLog();
  const { gateway, local } = await startBefore(
    { local: { script: cutting, get: lists('qwen3:4b') }, a: answers('a') },
    { HOSTED_A_MODEL: 'mini', ...settings },
    systemClock,
    log,
  );
  const model = async () => (await fetch(`${gateway.url}/v1/models/qwen3:4b`)).status;
  await expect.poll(model).toBe(200);
  const rows = () => gateway.host.snapshot().requests;
  return { ...gateway, local, lines, rows };
}

test('an engine that cuts prompts is found out within two requests, and gets no third that it would cut', async () => {
  const { url, local, lines, rows } = await started();
  expectServed(await chat(url, long(9000)), 'local');
  expect(rows()[0]?.attempts[0]).toMatchObject({ reason: null, cutAtTokens: 4096 });
  expectServed(await chat(url, long(11_000)), 'hosted_a', 'local=truncated');
  expect(rows()[0]?.attempts[0]).toMatchObject({ reason: 'truncated', cutAtTokens: 4096 });
  expectServed(await chat(url, long(9000)), 'hosted_a', 'local=context_length');
  expect(local.calls).toHaveLength(2);
  const model = await fetch(`${url}/v1/models/qwen3:4b`);
  expect(await model.json()).toMatchObject({ context_length: 4096 });
  expect(lines.filter((line) => line.startsWith('prompt_cut '))).toHaveLength(2);
});

test('an engine that cuts prompts is found out in streams as well, and the rest of the stream is sent', async () => {
  const { url, local, rows } = await started();
  local.script = sse(chunk({ content: 'hi' }), STOP, usageChunk(4096, 5), DONE);
  expect(await chatStream(url, long(9000))).toMatchObject({ upstream: 'local' });
  expect(await chatStream(url, long(9000))).toMatchObject({ upstream: 'local' });
  await expect.poll(() => rows()[0]?.attempts[0]?.cutAtTokens).toBe(4096);
  expectServed(await chatStream(url, long(9000)), 'hosted_a', 'local=context_length');
});

test('an engine that cuts prompts, with no other upstream, gives an error by which clients shorten the prompt', async () => {
  const { url } = await started({ HOSTED_A_BASE_URL: '', HOSTED_A_MODEL: '' });
  expect((await chat(url, long(9000))).status).toBe(200);
  for (let n = 0; n < 2; n += 1) {
    const { status, text } = await chat(url, long(9000));
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'context_length_exceeded' } });
  }
});

const MODEL = 'qwen3:8b';
const COPY = 'qwen3:8b-64k';
/** Some 16,000 tokens, for a name that no engine has. */
const LONG = { model: 'claude-sonnet-4-5', ...long(9000) };

/** A gateway whose Ollama has met a prompt that is too long for it. */
async function startShort(contextLength: number, settings: Readonly<Record<string, string>> = {}) {
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
  const gateway = await startShort(262_144);
  const { url, ollama, post, windows, aliases } = gateway;
  await gateway.set({ routing: { modelAliases: ['fast=qwen3:8b', 'other=mini'] } });
  expect(await windows()).toEqual(small(65_536, false));
  const made = { status: 200, body: { model: MODEL, copy: COPY } };
  expect(await post('windows', { model: MODEL })).toEqual(made);
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
  const { ollama, post, windows } = await startShort(40_960);
  expect(await windows()).toEqual(small(40_960, true));
  await post('windows', { model: MODEL });
  expect(ollama.models.get('qwen3:8b-40k')?.numCtx).toBe(40_960);
});

test('a copy is not made if nobody needs it, it cannot be named, or Ollama refuses; then no alias is left', async () => {
  const held = await startShort(262_144, { MODEL_ALIASES: 'a=b' });
  expect(await held.post('windows', { model: MODEL })).toMatchObject({
    status: 409,
    body: { error: { code: 'set_by_environment' } },
  });
  expect([...held.ollama.models.keys()]).toEqual([MODEL]);

  const { ollama, post, aliases } = await startShort(262_144);
  expect((await post('windows', { model: 'mini' })).status).toBe(409);
  ollama.models.clear();
  expect(await post('windows', { model: MODEL })).toMatchObject({
    status: 502,
    body: { error: { message: expect.stringContaining("model 'qwen3:8b' not found") as string } },
  });
  expect(await aliases()).toEqual([]);
});

test('removing a copy removes nothing but copies', async () => {
  const gateway = await startShort(262_144);
  const { ollama, post } = gateway;
  await gateway.set({ routing: { modelAliases: [`mine=${MODEL}`] } });
  expect((await post('windows/undo', { copy: MODEL })).status).toBe(404);
  expect([...ollama.models.keys()]).toEqual([MODEL]);
});
