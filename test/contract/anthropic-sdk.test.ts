import { Anthropic, APIError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { STREAM_PROTOCOLS, typed } from '../support/protocols.ts';
import { error, json, lists, sse, startUpstream, type Script } from '../support/upstream.ts';

// The `@anthropic-ai/sdk` package, unmodified, against upstreams that have the Messages API.

const MESSAGES = STREAM_PROTOCOLS.find(({ name }) => name === 'messages');
if (MESSAGES === undefined) throw new Error('no messages');
const { whole, held } = MESSAGES;

const ASK = {
  model: 'm',
  max_tokens: 16,
  messages: [{ role: 'user' as const, content: 'hi' }],
};

async function startAt(place: 'local' | 'hosted_a', script: Script, more = {}) {
  const upstream = await startUpstream(script);
  const settings =
    place === 'local'
      ? { LOCAL_ENGINE_URL: upstream.url, LOCAL_PROTOCOLS: 'native' }
      : { HOSTED_A_BASE_URL: `${upstream.url}/v1`, HOSTED_A_API_KEY: 'sk-hosted' };
  const gateway = await startGateway({ ...settings, ...more });
  const client = new Anthropic({ baseURL: gateway.url, apiKey: 'of-the-caller', maxRetries: 0 });
  return { upstream, client };
}

test('Anthropic’s client lists models in its own form, and reads one of them', async () => {
  const upstream = await startUpstream(json(200, whole));
  const listed = { id: 'qwen3', created: 1_700_000_000, context_length: 32_768 };
  upstream.answerGet = lists(listed, { id: 'big', created: 1.7e15 });
  const { url } = await startGateway({
    HOSTED_A_BASE_URL: `${upstream.url}/v1`,
    HOSTED_A_LABEL: 'Here',
    MODEL_ALIASES: 'claude-own=qwen3',
  });
  const client = new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 0 });
  await expect.poll(async () => (await client.models.list()).data).toHaveLength(4);
  const page = await client.models.list({ limit: 1000 });
  expect(page).toMatchObject({ has_more: false, first_id: 'auto', last_id: 'claude-own' });
  const qwen = {
    type: 'model',
    id: 'here/qwen3',
    display_name: 'here/qwen3',
    created_at: '2023-11-14T22:13:20.000Z',
    max_input_tokens: 32_768,
  };
  expect(page.data).toMatchObject([
    { type: 'model', id: 'auto' },
    qwen,
    { id: 'here/big', created_at: '1970-01-01T00:00:00.000Z', max_input_tokens: null },
    { ...qwen, id: 'claude-own', display_name: 'claude-own' },
  ]);
  expect(await client.models.retrieve('qwen3')).toMatchObject(qwen);
  await expect(client.models.retrieve('none')).rejects.toThrow(NotFoundError);
});

test('Claude Code finds models for its picker, which it asks for by a limit', async () => {
  const { url } = await startGateway({
    HOSTED_A_BASE_URL: 'http://127.0.0.1:9',
    HOSTED_A_MODEL: 'm',
  });
  const answer = await fetch(`${url}/v1/models?limit=1000`);
  expect(await answer.json()).toMatchObject({
    data: [{ id: 'auto' }, { object: 'model', type: 'model', display_name: '127.0.0.1:9/m' }],
    has_more: false,
  });
});

describe.each(['local', 'hosted_a'] as const)('Anthropic’s client through %s', (place) => {
  test(`a plain message comes through ${place}`, async () => {
    const { upstream, client } = await startAt(place, json(200, whole));
    const tools = [{ name: 't', input_schema: { type: 'object' as const } }];
    const message = await client.messages.create({ ...ASK, tools });
    expect(message.content).toEqual([{ type: 'text', text: 'ab' }]);
    const [call] = upstream.calls;
    expect(call).toMatchObject({ path: '/v1/messages', json: { ...ASK, tools } });
    expect(call?.headers['anthropic-version']).toMatch(/^\d{4}-\d\d-\d\d$/);
    const key = place === 'local' ? 'of-the-caller' : 'sk-hosted';
    expect(call?.headers.authorization).toBe(`Bearer ${key}`);
    expect(call?.headers['x-api-key']).toBe(place === 'local' ? undefined : 'sk-hosted');
  });

  test(`a tool call comes through ${place}, streamed and plain`, async () => {
    const block = { type: 'tool_use', id: 'toolu_1', name: 't', input: {} };
    const input = { type: 'input_json_delta', partial_json: '{"a":1}' };
    const { client } = await startAt(
      place,
      sse(
        held[0] ?? '',
        typed('content_block_start', { index: 0, content_block: block }),
        typed('content_block_delta', { index: 0, delta: input }),
        typed('content_block_stop', { index: 0 }),
        typed('message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } }),
        typed('message_stop'),
      ),
    );
    const message = await client.messages.stream(ASK).finalMessage();
    const call = [{ type: 'tool_use', id: 'toolu_1', name: 't', input: { a: 1 } }];
    expect(message.content).toMatchObject(call);
    // A plain one is asked for as a stream as well.
    expect((await client.messages.create(ASK)).content).toEqual(call);
  });
});

test('errors have the classes of Anthropic’s client', async () => {
  const { upstream, client } = await startAt('hosted_a', error(400, 'bad'));
  await expect(client.messages.create(ASK)).rejects.toThrow(BadRequestError);
  upstream.script = json(404, {
    type: 'error',
    error: { type: 'not_found_error', message: 'model: x' },
  });
  await expect(client.messages.create({ ...ASK, model: 'x' })).rejects.toThrow(NotFoundError);
  upstream.script = error(503);
  const failed: unknown = await client.messages
    .create({ ...ASK, model: 'n' })
    .catch((e: unknown) => e);
  expect(failed).toBeInstanceOf(APIError);
});
