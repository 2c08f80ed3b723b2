import { expect, test } from 'vitest';
import { chat, expectServed, HELLO, startCall } from '../support/client.ts';
import { answers, error, json, lists, type Upstream } from '../support/upstream.ts';
import { startBefore, startStill } from '../support/scene.ts';
import { answersPages } from '../support/ollama.ts';
import { costly, history } from '../support/usage.ts';

/** An engine with the model `llama`, and two hosted upstreams, of which the second takes `gpt` too. */
async function started(settings: Readonly<Record<string, string>> = {}) {
  const { url, local, a, b } = await startBefore(
    { local: { script: answers('local'), get: lists('llama') }, a: answers('a'), b: answers('b') },
    { HOSTED_A_MODEL: 'mini', HOSTED_B_MODEL: 'base', HOSTED_B_MODELS: 'gpt', ...settings },
  );
  await local.get(1);
  await expect.poll(async () => (await fetch(`${url}/v1/models/llama`)).status).toBe(200);
  return { url, local, a, b };
}

const modelsAt = ({ calls }: Upstream) => calls.map((call) => call.json['model']);

test('a name in an upstream’s list leads there, and other upstreams stand in with their own model', async () => {
  const { url, local, a, b } = await started();
  expectServed(await chat(url, { ...HELLO, model: 'gpt' }), 'hosted_b');
  b.script = error(503);
  expectServed(await chat(url, { ...HELLO, model: 'gpt' }), 'local', 'hosted_b=http_503');
  expect([modelsAt(local), modelsAt(a)]).toEqual([['llama'], []]);
  expect(modelsAt(b)[0]).toBe('gpt');
});

test('a source’s name before one of its models leads there in any case, and before another not', async () => {
  const { url, a } = await started({ HOSTED_A_LABEL: 'OpenAI', HOSTED_A_MODELS: 'nano' });
  for (const model of ['openai/nano', 'OpenAI/nano'])
    expectServed(await chat(url, { ...HELLO, model }), 'hosted_a');
  expect(modelsAt(a)).toEqual(['nano', 'nano']);
  expectServed(await chat(url, { ...HELLO, model: 'openai/dear' }), 'local');
});

test('an alias leads to the upstreams that have its model, under the name that they know', async () => {
  const { url, local, a } = await started({ MODEL_ALIASES: 'cheap=mini,mine=llama' });
  expect(await chat(url, { ...HELLO, model: 'cheap' })).toMatchObject({ upstream: 'hosted_a' });
  expectServed(await chat(url, { ...HELLO, model: 'mine', temperature: 0.5 }), 'local');
  expect([modelsAt(local), modelsAt(a)]).toEqual([['llama'], ['mini']]);
  expect(local.calls[0]?.json).toMatchObject({ temperature: 0.5, messages: [{ content: 'hi' }] });
});

test('only upstreams that have the model are called with MODEL_FALLBACK=same', async () => {
  const { url, local, a, b } = await started({ MODEL_FALLBACK: 'same' });
  expectServed(await chat(url, { ...HELLO, model: 'mini' }), 'hosted_a', 'local=model_mismatch');
  expect(await chat(url, { ...HELLO, model: 'gpt' })).toMatchObject({ upstream: 'hosted_b' });
  b.script = error(503);
  expect((await chat(url, { ...HELLO, model: 'gpt' })).text).toContain('hosted_b');
  const unknown = await chat(url, { ...HELLO, model: 'elsewhere' });
  expect(unknown.status).toBe(404);
  const message: unknown = expect.stringMatching(/^No source has this model\. /);
  expect(JSON.parse(unknown.text)).toMatchObject({ error: { code: 'model_not_found', message } });
  expect([modelsAt(local), modelsAt(a)]).toEqual([[], ['mini']]);
  expect(await chat(url)).toMatchObject({ upstream: 'local' });
});

test('an alias may name an embedding model, in a form too', async () => {
  const vectors = json(200, { object: 'list', data: [{ index: 0, embedding: [1] }] });
  const { url, a } = await startBefore(
    { a: [vectors, json(200, { text: 'hi' })] },
    { MODEL_ALIASES: 'embed=nomic,hear=whisper-größe' },
  );
  const asked = await startCall(`${url}/v1/embeddings`, { input: 'a', model: 'embed' }).answer;
  expect(asked.status).toBe(200);
  expect(a.calls[0]?.json).toEqual({ input: 'a', model: 'nomic' });
  const form = new FormData();
  form.append('file', new Blob([Buffer.from([0xff, 0, 0x0d, 0x0a])]), 'ü.wav');
  form.append('model', 'hear');
  const heard = await fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', body: form });
  expect(heard.status).toBe(200);
  const { body } = await a.call(2);
  expect(body.toString('utf8')).toContain('name="model"\r\n\r\nwhisper-größe\r\n--');
  expect(body.includes(Buffer.from([0xff, 0, 0x0d, 0x0a]))).toBe(true);
});

// Which of its engine's models a fixed engine is sent.

const NOMIC = { name: 'nomic-embed-text:latest', size: 274_302_450, capabilities: ['embedding'] };
const RERANKER = { name: 'bge-reranker-v2-m3', size: 600_000_000, capabilities: ['embedding'] };
const QWEN = { name: 'qwen3:4b', size: 2.6e9, capabilities: ['completion', 'tools'] };
const GEMMA = { name: 'gemma4:12b', size: 8.1e9, capabilities: ['completion', 'vision'] };
const REMOTE = { remote_host: 'https://ollama.com:443' };
const CLOUD = { name: 'gpt-oss:120b-cloud', size: 384, capabilities: ['completion'], ...REMOTE };

/** Answers as Ollama 0.30: the last pulled model is listed first (https://github.com/ollama/ollama/blob/main/docs/api.md). */
function ollama(models: readonly (typeof QWEN)[], loaded: readonly string[]) {
  const pages: Record<string, unknown> = {
    '/v1/models': { data: models.map(({ name: id }) => ({ id, owned_by: 'library' })) },
    '/': 'Ollama is running',
    '/api/version': { version: '0.30.2' },
    '/api/tags': { models },
    '/api/ps': { models: loaded.map((name) => ({ name, context_length: 4096 })) },
  };
  return answersPages(() => pages);
}

async function startLoaded(
  models: readonly (typeof QWEN)[],
  loaded: readonly string[],
  settings: Readonly<Record<string, string>> = {},
) {
  const { url, local, a, clock } = await startStill(
    { local: { script: answers('local'), get: ollama(models, loaded) }, a: answers('a') },
    { HOSTED_A_MODEL: 'mini', ...settings },
  );
  await clock.timer(30_000, 30_000);
  return { url, engine: local, hosted: a };
}

const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,' } };
const PICTURE = { messages: [{ role: 'user', content: [IMAGE] }] };

test('a model name that the engine does not have goes to the model that it has loaded', async () => {
  const { url, engine } = await startLoaded([NOMIC, GEMMA, QWEN], [NOMIC.name, QWEN.name]);
  await chat(url, { ...HELLO, model: 'gpt-4o' });
  await chat(url);
  const haiku = { ...HELLO, model: 'claude-haiku-4-5', max_tokens: 9 };
  await startCall(`${url}/v1/messages`, haiku).answer;
  expect(modelsAt(engine)).toEqual([QWEN.name, QWEN.name, QWEN.name]);
});

// ollama/ollama#336, nhaouari/obsidian-textgenerator-plugin#304.
const UPPER = { ...QWEN, name: 'Qwen3:4B' };

test.each<[asked: object, sent: string]>([
  [{ model: GEMMA.name }, GEMMA.name],
  [{ model: 'nomic-embed-text' }, 'nomic-embed-text'],
  [{ model: 'GEMMA4:12b' }, GEMMA.name],
  [{ model: 'Nomic-Embed-Text' }, NOMIC.name],
  [{ model: QWEN.name }, QWEN.name],
  [{ model: UPPER.name }, UPPER.name],
  [{ ...PICTURE, model: 'gpt-4o' }, GEMMA.name],
])('a request with %j goes to the model %s of an engine', async (asked, sent) => {
  const { url, engine } = await startLoaded([NOMIC, UPPER, QWEN, GEMMA], [QWEN.name]);
  await chat(url, { ...HELLO, ...asked });
  expect(modelsAt(engine)).toEqual([sent]);
});

test('a model name goes to the model that answered last if none is loaded, and first to one that runs', async () => {
  const { url, engine } = await startLoaded([CLOUD, NOMIC, QWEN, GEMMA], []);
  await chat(url, { ...HELLO, model: 'gpt-4o' });
  await chat(url, { ...HELLO, model: GEMMA.name });
  await expect
    .poll(async () => {
      await chat(url, { ...HELLO, model: 'gpt-4o' });
      return modelsAt(engine).at(-1);
    })
    .toBe(GEMMA.name);
  expect(modelsAt(engine).slice(0, 2)).toEqual([QWEN.name, GEMMA.name]);
});

test.each([[[NOMIC, RERANKER]], [[RERANKER, NOMIC]], [[CLOUD, NOMIC]]])(
  'an engine that has only embedders and rerankers gets embeddings, and no chat that does not name one',
  async (models) => {
    const { url, engine } = await startLoaded(models, [NOMIC.name]);
    const answer = await chat(url, { ...HELLO, model: 'gpt-4o' });
    expectServed(answer, 'hosted_a', 'local=model_mismatch');
    await startCall(`${url}/v1/embeddings`, { model: NOMIC.name, input: 'hi' }).answer;
    expect(modelsAt(engine)).toEqual([NOMIC.name]);
  },
);

test('a model of Ollama’s cloud is not called with zero spend, and is not listed as one of the own GPUs', async () => {
  const copied = { ...CLOUD, name: 'big:latest' };
  const { url, engine } = await startLoaded([CLOUD, copied, QWEN], [], { FORCE_ZERO: 'true' });
  for (const { name } of [CLOUD, copied]) {
    const { status, reason, text } = await chat(url, { ...HELLO, model: name });
    expect([status, reason]).toEqual([
      503,
      expect.stringMatching(/^local=zero_spend; hosted_a=ze/),
    ]);
    expect(text).toContain("its engine sends this model's prompts to a service");
    const listed = await (await fetch(`${url}/v1/models/${name}`)).json();
    expect(listed).toMatchObject({ owned_by: 'cloud' });
  }
  expectServed(await chat(url, { ...HELLO, model: 'gpt-4o' }), 'local');
  expect(modelsAt(engine)).toEqual([QWEN.name]);
});

test('a model of Ollama’s cloud saves no money, whatever the copy of it is called', async () => {
  const models = [CLOUD, { ...CLOUD, name: 'big:latest' }, QWEN];
  const { url, engine } = await startLoaded(models, [], { HOSTED_A_PRICE_OUTPUT: '1000' });
  engine.script = costly;
  for (const { name } of models) await chat(url, { ...HELLO, model: name });
  expect((await history(url)).today.savedNano).toBe(0.25e9);
});

const ALIASES = {
  MODEL_ALIASES: `claude-*haiku*=${QWEN.name},claude-*=${GEMMA.name},claude-x=mini,gpt-*=${GEMMA.name}`,
};

test('an alias with a star stands for each name that it matches: exact names first, then the longest', async () => {
  const { url, engine, hosted } = await startLoaded([NOMIC, GEMMA, QWEN], [QWEN.name], ALIASES);
  for (const model of ['claude-haiku-4-5-20251001', 'claude-opus-4-6', 'claude-x', 'gpt-4o'])
    await chat(url, { ...HELLO, model });
  expect(modelsAt(engine)).toEqual([QWEN.name, GEMMA.name, GEMMA.name]);
  expect(modelsAt(hosted)).toEqual(['mini']);
});
