import { Anthropic, APIError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { eventsOf, STREAM_PROTOCOLS } from '../support/protocols.ts';
import {
  error,
  json,
  lists,
  startUpstream,
  type Script,
  chunk,
  cut,
  ROLE,
  sse,
} from '../support/upstream.ts';
import { calledTwice, CALLS_TWICE, SAID, type Reply } from '../support/chat-answers.ts';
import { placedAt, startChatOnly, startSpeaker, WAYS } from '../support/speakers.ts';

// The `@anthropic-ai/sdk` package, unmodified, against upstreams that have the Messages API.

const MESSAGES = STREAM_PROTOCOLS.find(({ name }) => name === 'messages');
if (MESSAGES === undefined) throw new Error('no messages');

const HI = { role: 'user' as const, content: 'hi' };
const ASK = { model: 'm', max_tokens: 16, messages: [HI] };

const clientOf = (url: string) =>
  new Anthropic({ baseURL: url, apiKey: 'of-the-caller', maxRetries: 0 });

async function startAt(place: 'local' | 'hosted_a', script: Script) {
  const upstream = await startUpstream(script);
  const settings = { ...placedAt(place, upstream.url), LOCAL_PROTOCOLS: 'native' };
  return { upstream, client: clientOf((await startGateway(settings)).url) };
}

test('Anthropic’s client lists models in its own form, and reads one of them', async () => {
  const upstream = await startUpstream(json(200, MESSAGES.whole));
  const listed = { id: 'qwen3', created: 1_700_000_000, context_length: 32_768 };
  upstream.answerGet = lists(listed, { id: 'big', created: 1.7e15 });
  const { url } = await startGateway({
    HOSTED_A_BASE_URL: `${upstream.url}/v1`,
    HOSTED_A_LABEL: 'Here',
    MODEL_ALIASES: 'claude-own=qwen3',
  });
  const client = clientOf(url);
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

test.each(['local', 'hosted_a'] as const)('a plain message comes through %s', async (place) => {
  const { upstream, client } = await startAt(place, json(200, MESSAGES.whole));
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

// github.com/farion1231/cc-switch/issues/1945
test('Anthropic’s client reads the stream of an upstream that tells no usage', async () => {
  const told = eventsOf(MESSAGES).map((event) => event.replace(/,"usage":\{[^}]*\}/, ''));
  expect(told.join('')).not.toContain('usage');
  const { client } = await startAt('hosted_a', sse(...told));
  const message = await client.messages.stream(ASK).finalMessage();
  expect(message.usage).toEqual({ input_tokens: 0, output_tokens: 0 });
});

// The `@anthropic-ai/sdk` package, unmodified, at upstreams with the Messages API and without it.

const WEATHER = {
  name: 'weather',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
};

const CALLS: Reply = { ...CALLS_TWICE, text: 'Let me see.' };

describe.each(WAYS)('Anthropic’s client, $way through $place', (way) => {
  test(`a message with its usage comes through ${way.place} (${way.way}), plain and streamed`, async () => {
    const { url } = await startSpeaker(way, SAID);
    const client = clientOf(url);
    const whole = await client.messages.create(ASK);
    expect(whole).toMatchObject({
      content: [{ type: 'text', text: 'Hello.' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 8, cache_read_input_tokens: 4, output_tokens: 7 },
    });
    const stream = client.messages.stream(ASK);
    const texts: string[] = [];
    stream.on('text', (text) => void texts.push(text));
    expect((await stream.finalMessage()).content).toMatchObject(whole.content);
    expect(texts.join('')).toBe('Hello.');
  });

  test(`parallel tool calls with thinking come through ${way.place} (${way.way}), and so does the turn after their results`, async () => {
    const { url, bodies } = await startSpeaker(way, CALLS, { ...SAID, text: 'Rain.' });
    const client = clientOf(url);
    const asked = { ...ASK, tools: [WEATHER] };
    const first = await client.messages.stream(asked).finalMessage();
    expect(first.stop_reason).toBe('tool_use');
    const calls = first.content.filter((block) => block.type === 'tool_use');
    expect(calls.map(({ input }) => input)).toEqual([{ city: 'Oslo' }, { city: 'Bergen' }]);
    const results = calls.map(({ id }) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: 'rain',
    }));
    const said = { role: 'assistant' as const, content: first.content };
    const messages = [HI, said, { role: 'user' as const, content: results }];
    const second = await client.messages.create({ ...asked, messages });
    expect(second.content).toMatchObject([{ type: 'text', text: 'Rain.' }]);
    expect(bodies()[1]?.['messages']).toMatchObject(calledTwice(way));
  });
});

test('a translated message that breaks off makes Anthropic’s client throw', async () => {
  const { url } = await startChatOnly(cut(ROLE, chunk({ content: 'half' })));
  const client = clientOf(url);
  await expect(client.messages.stream(ASK).finalMessage()).rejects.toThrow(/broke off/);
});

test('errors of translated messages have the classes of Anthropic’s client', async () => {
  const { upstream, url } = await startChatOnly(error(400, 'bad temperature'));
  const client = clientOf(url);
  const refused = client.messages.create(ASK);
  await expect(refused).rejects.toThrow(BadRequestError);
  await expect(refused).rejects.toThrow(/bad temperature/);
  const tools = [{ type: 'web_search_20250305' as const, name: 'web_search' as const }];
  const search = client.messages.create({ ...ASK, tools });
  await expect(search).rejects.toThrow(/'tools\[0\]\.type'/);
  upstream.script = error(503);
  await expect(client.messages.create(ASK)).rejects.toThrow(APIError);
});
