import { expect, test } from 'vitest';
import { chat, expectServed, HELLO, startCall } from '../support/client.ts';
import { answers, error, json, type Upstream, lists } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

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

test('a name that an app was made with does not lead past local to a paid upstream', async () => {
  const { url, local, a } = await started();
  expectServed(await chat(url, { ...HELLO, model: 'mini' }), 'local');
  expect([modelsAt(local), modelsAt(a)]).toEqual([['llama'], []]);
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
  expect(JSON.parse(unknown.text)).toMatchObject({ error: { code: 'model_not_found' } });
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
