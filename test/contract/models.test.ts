import { expect, test } from 'vitest';
import { chat, HELLO } from '../support/client.ts';
import { startControlled } from '../support/control.ts';
import { startGateway } from '../support/gateway.ts';
import { expectError, send } from '../support/http.ts';
import { answers, error, lists, startUpstream, json } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startBefore, startStill } from '../support/scene.ts';

interface Listed {
  readonly id: string;
  readonly [more: string]: unknown;
}

/** An upstream with a model list. */
const listing = (...models: readonly (string | object)[]) => ({
  script: answers('hi'),
  get: lists(...models),
});

async function listOf(url: string): Promise<readonly Listed[]> {
  const { status, text } = await send(`${url}/v1/models`);
  expect(status).toBe(200);
  return (JSON.parse(text) as { data: readonly Listed[] }).data;
}

/** Without `auto`, which is the first. */
const idsOf = async (url: string) => (await listOf(url)).slice(1).map(({ id }) => id);

/** As it is listed of an upstream without a name. */
const of = ({ url }: { readonly url: string }, model: string) => `${new URL(url).host}/${model}`;

const by = (upstream: string, owner: string) => ({
  owned_by: upstream,
  owner,
  upstreams: [upstream],
});

test('the list of models names the usual order, and of each model where it answers', async () => {
  const { url, a, b } = await startBefore(
    {
      local: listing({ id: 'llama', owned_by: 'vllm', created: 7, max_model_len: 8192 }),
      a: listing(
        { id: 'gpt', object: 'model', created: 1_700_000_000, owned_by: 'openai' },
        { id: 'llama', created: 9, context_length: 131_072 },
      ),
      b: listing({ id: 'set', context_window: 4096 }, { id: 'never-sent' }),
    },
    {
      ...at({ hosted_c: 'http://127.0.0.1:9' }),
      HOSTED_A_API_KEY: 'the-hosted-key',
      HOSTED_B_MODEL: 'set',
      HOSTED_C_MODELS: 'extra,gpt',
      HOSTED_C_LABEL: 'Third',
      MODEL_ALIASES: 'fast=llama,smart=gpt,lost=nowhere',
    },
  );
  await expect.poll(() => idsOf(url)).toHaveLength(9);
  await expect
    .poll(() => listOf(url))
    .toEqual([
      expect.objectContaining({
        id: 'auto',
        owned_by: 'inglenook',
        upstreams: ['local', 'hosted_a', 'hosted_b', 'hosted_c'],
      }),
      { id: 'llama', object: 'model', created: 7, ...by('local', 'vllm'), context_length: 8192 },
      { id: of(a, 'gpt'), object: 'model', created: 1_700_000_000, ...by('hosted_a', 'openai') },
      expect.objectContaining({ id: of(a, 'llama'), context_length: 131_072 }),
      expect.objectContaining({ id: of(b, 'set'), owned_by: 'hosted_b', context_length: 4096 }),
      expect.objectContaining({ id: 'third/extra', upstreams: ['hosted_c'] }),
      expect.objectContaining({ id: 'third/gpt', upstreams: ['hosted_c'] }),
      expect.objectContaining({ id: 'fast', alias_of: 'llama', context_length: 8192 }),
      expect.objectContaining({ id: 'smart', alias_of: 'gpt', owned_by: 'hosted_a' }),
      expect.objectContaining({ id: 'lost', alias_of: 'nowhere', upstreams: [] }),
    ]);
  expect(a.gets.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/models', 'Bearer the-hosted-key'],
  ]);
  for (const [asked, id = asked] of [['llama'], ['smart'], ['extra', 'third/extra']] as const) {
    const { status, text } = await send(`${url}/v1/models/${asked}`);
    expect([status, (JSON.parse(text) as Listed).id]).toEqual([200, id]);
  }
  expectError(await send(`${url}/v1/models/never-sent`), 404, 'model_not_found');
});

test('a dead upstream does not delay the list of models, and its last list stays while it is down', async () => {
  const { url, a, b, clock } = await startStill(
    { a: listing('gpt'), b: { get: () => {} } },
    { ...at({ hosted_c: 'http://127.0.0.1:9' }), HOSTED_B_MODEL: 'set' },
  );
  const set = of(b, 'set');
  expect(await idsOf(url)).toEqual([set]);
  await b.get(1);
  await expect.poll(() => idsOf(url)).toEqual([of(a, 'gpt'), set]);
  await a.close();
  clock.advance(600_000);
  expect(await idsOf(url)).toEqual([of(a, 'gpt'), set]);
  await a.reopen();
  a.answerGet = lists('newer');
  const later = () => {
    clock.advance(60_000);
    return idsOf(url);
  };
  await expect.poll(later).toEqual([of(a, 'newer'), set]);
});

test('an upstream is asked for its models once for many readers, and again only when its list is old', async () => {
  const { url, a, clock } = await startStill({ a: listing('gpt') });
  await Promise.all(Array.from({ length: 20 }, () => listOf(url)));
  await expect.poll(() => idsOf(url)).toEqual([of(a, 'gpt')]);
  expect(a.gets).toHaveLength(1);
  clock.advance(599_000);
  await listOf(url);
  expect(a.gets).toHaveLength(1);
  clock.advance(1000);
  await listOf(url);
  await a.get(2);
});

test('neither the on-demand upstream nor, while no money may be spent, any other is asked for its models', async () => {
  const { url, gateway, a, ondemand } = await startBefore(
    { a: listing('gpt'), ondemand: listing('big') },
    { ONDEMAND_MODEL: 'set' },
  );
  await gateway.set({ routing: { forceZero: true } });
  await listOf(url);
  await gateway.set({ routing: { forceZero: false } });
  expect(a.gets).toHaveLength(0);
  await expect.poll(() => idsOf(url)).toEqual([of(a, 'gpt'), 'rented-gpu/set']);
  expect(ondemand.gets).toHaveLength(0);
});

test('an upstream with a new address has a new list', async () => {
  const gateway = await startControlled({});
  for (const model of ['old', 'new']) {
    const up = Object.assign(await startUpstream(), { answerGet: lists(model) });
    await gateway.set({ hosted_a: { baseUrl: up.url } });
    await expect.poll(() => idsOf(gateway.url)).toEqual([of(up, model)]);
  }
});

test('a body that is not a list of models, or is too long, is not used', async () => {
  const odd = listing(
    { id: 7 },
    { id: '' },
    { id: 'x'.repeat(201) },
    { id: 'a\nb' },
    { object: 'model' },
    { id: 'fine', created: 'soon', owned_by: 7, context_length: -1, meta: [] },
    { id: 'claude', created_at: '2025-02-19T00:00:00Z', max_input_tokens: 200_000 },
  );
  const many = listing(...Array.from({ length: 6000 }, (_, n) => `m${n}`));
  const html = { get: json(200, '<html>') };
  const { url, a } = await startBefore({ a: odd, b: many, c: html });
  await expect.poll(async () => (await idsOf(url)).length).toBe(5002);
  const head = { object: 'model', owned_by: 'hosted_a', upstreams: ['hosted_a'] };
  expect((await listOf(url)).slice(1, 3)).toEqual([
    { ...head, id: of(a, 'fine'), created: 0 },
    { ...head, id: of(a, 'claude'), created: 1_739_923_200, context_length: 200_000 },
  ]);
});

// github.com/BerriAI/litellm/issues/36854
test('Codex gets an empty catalogue next to the list of models, and other apps none', async () => {
  const { url } = await startGateway({});
  const keysOf = async (query: string) =>
    Object.keys(JSON.parse((await send(`${url}/v1/models${query}`)).text) as object);
  expect(await keysOf('?client_version=0.153.4')).toEqual(['object', 'data', 'models']);
  expect(await keysOf('')).toEqual(['object', 'data']);
});

test('a single model is found in any case of its name, an exact one first', async () => {
  const { url } = await startGateway({
    HOSTED_A_BASE_URL: 'http://127.0.0.1:9',
    HOSTED_A_MODELS: 'org/MiniMax-M3,org/minimax-M3',
    HOSTED_A_LABEL: 'Here',
  });
  const idAt = async (id: string) =>
    (JSON.parse((await send(`${url}/v1/models/${id}`)).text) as { id: string }).id;
  expect(await idAt('here/org/minimax-m3')).toBe('here/org/MiniMax-M3');
  expect(await idAt('here/org/minimax-M3')).toBe('here/org/minimax-M3');
});

test('a hosted model that is picked from the list answers, and after its upstream failed the usual order does', async () => {
  const { url, local, b, clock } = await startStill(
    { local: listing('llama'), a: listing(), b: listing() },
    {
      HOSTED_A_MODEL: 'set',
      HOSTED_B_MODEL: 'mini',
      HOSTED_B_LABEL: 'My Service',
      MODEL_ALIASES: 'small=my-service/other',
    },
  );
  const ask = async (model: string) => {
    const { upstream, headers } = await chat(url, { ...HELLO, model });
    return [upstream, headers['x-gateway-model']];
  };
  await expect.poll(() => ask('auto')).toEqual(['local', 'llama']);
  expect(await ask('my-service/mini')).toEqual(['hosted_b', 'mini']);
  expect(await ask('small')).toEqual(['hosted_b', 'other']);
  expect(await ask('mini')).toEqual(['local', 'llama']);
  b.script = error(401);
  expect(await ask('my-service/mini')).toEqual(['local', 'llama']);
  b.script = answers('hi');
  const own = 'my-service/mini';
  local.answerGet = lists(own);
  const later = () => {
    // Shorter than the time in which an engine must answer.
    clock.advance(2000);
    return ask(own);
  };
  await expect.poll(later).toEqual(['local', own]);
});
