import { expect, test } from 'vitest';
import type { Tokens } from '#shared/usage.ts';
import { chatStream } from '../support/client.ts';
import { send } from '../support/http.ts';
import { typed } from '../support/protocols.ts';
import {
  chunk,
  completion,
  DONE,
  json,
  ROLE,
  type Script,
  sse,
  STOP,
} from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

const TOLD: Tokens = { input: 11, output: 5, cached: 4, estimated: false };

const CHAT_USAGE = {
  prompt_tokens: 11,
  completion_tokens: 5,
  total_tokens: 16,
  prompt_tokens_details: { cached_tokens: 4 },
};
const RESPONSE_USAGE = {
  input_tokens: 11,
  output_tokens: 5,
  input_tokens_details: { cached_tokens: 4 },
};
/** Anthropic leaves what was cached out of the input. */
const MESSAGE_USAGE = { input_tokens: 7, cache_read_input_tokens: 4, output_tokens: 5 };

const HI = [{ role: 'user', content: 'hi' }];
const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const text = (part: string, finish: string | null = null) =>
  data({ id: 'c1', choices: [{ index: 0, text: part, finish_reason: finish }] });
const output = [
  {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'hi' }],
  },
];
const response = { id: 'r1', object: 'response', status: 'completed', error: null, output };
const message = {
  id: 'm1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
};

interface Dialect {
  readonly name: string;
  readonly path: string;
  readonly body: object;
  readonly settings?: Readonly<Record<string, string>>;
  readonly events: readonly string[];
  readonly whole: object;
}

const CHAT: Pick<Dialect, 'events' | 'whole'> = {
  events: [ROLE, chunk({ content: 'hi' }), STOP, data({ choices: [], usage: CHAT_USAGE }), DONE],
  whole: { ...completion('hi'), usage: CHAT_USAGE },
};

const RESPONSES = { path: '/v1/responses', body: { model: 'm', input: 'hi' } };
const MESSAGES = { path: '/v1/messages', body: { model: 'm', max_tokens: 5, messages: HI } };
const TRANSLATED = { ...CHAT, settings: { HOSTED_A_PROTOCOLS: 'chat' } };

const DIALECTS: readonly Dialect[] = [
  { name: 'chat completions', path: '/v1/chat/completions', body: { messages: HI }, ...CHAT },
  {
    name: 'completions',
    path: '/v1/completions',
    body: { model: 'm', prompt: 'a' },
    events: [text('hi'), text('', 'stop'), data({ choices: [], usage: CHAT_USAGE }), DONE],
    whole: {
      object: 'text_completion',
      choices: [{ index: 0, text: 'hi', finish_reason: 'stop' }],
      usage: CHAT_USAGE,
    },
  },
  {
    name: 'responses',
    ...RESPONSES,
    events: [
      typed('response.created', { response: { ...response, status: 'in_progress', usage: null } }),
      typed('response.output_text.delta', { item_id: 'msg_1', output_index: 0, delta: 'hi' }),
      typed('response.completed', { response: { ...response, usage: RESPONSE_USAGE } }),
    ],
    whole: { ...response, usage: RESPONSE_USAGE },
  },
  {
    name: 'messages',
    ...MESSAGES,
    events: [
      typed('message_start', {
        message: { ...message, content: [], usage: { ...MESSAGE_USAGE, output_tokens: 1 } },
      }),
      typed('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      typed('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'hi' } }),
      typed('content_block_stop', { index: 0 }),
      typed('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }),
      typed('message_stop'),
    ],
    whole: { ...message, usage: MESSAGE_USAGE },
  },
  { name: 'responses from chat completions', ...RESPONSES, ...TRANSLATED },
  { name: 'messages from chat completions', ...MESSAGES, ...TRANSLATED },
];

const speaks =
  ({ events, whole }: Pick<Dialect, 'events' | 'whole'>): Script =>
  (call) =>
    (call.json['stream'] === true ? sse(...events) : json(200, whole))(call);

const WAYS = DIALECTS.flatMap((dialect) =>
  [true, false].map((stream) => ({
    ...dialect,
    title: `${dialect.name}, ${stream ? 'streamed' : 'whole'}`,
    stream,
  })),
);

test.for(WAYS)('the usage of $title is counted once', async (way) => {
  const { gateway } = await startBefore({ a: speaks(way) }, way.settings);
  const body = JSON.stringify({ ...way.body, stream: way.stream });
  const headers = { 'content-type': 'application/json' };
  const { status } = await send(`${gateway.url}${way.path}`, { method: 'POST', body, headers });
  expect(status).toBe(200);
  const [row] = gateway.host.snapshot().requests;
  expect(row?.tokens).toEqual(TOLD);
  expect(row?.attempts.map(({ tokens }) => tokens)).toEqual([TOLD]);
});

test('a stream whose upstream tells of its prompt alone counts its events as output', async () => {
  const usage = data({ choices: [], usage: { prompt_tokens: 11 } });
  const { gateway } = await startBefore({
    a: sse(ROLE, chunk({ content: 'hi' }), STOP, usage, DONE),
  });
  await chatStream(gateway.url);
  const [row] = gateway.host.snapshot().requests;
  expect(row?.tokens).toEqual({ input: 11, output: 4, cached: 0, estimated: true });
});

const VECTORS = { model: 'm', data: [{ index: 0, embedding: [0.25] }] };
const SCORES = { model: 'm', results: [{ index: 0, relevance_score: 0.5 }] };
const INPUT_ONLY = { ...TOLD, output: 0, cached: 0 };

test.for([
  {
    name: 'embeddings',
    body: { model: 'm', input: 'a' },
    whole: { ...VECTORS, usage: { prompt_tokens: 11, total_tokens: 11 } },
    tokens: INPUT_ONLY,
  },
  {
    name: 'rerank',
    body: { model: 'm', query: 'q', documents: ['a'] },
    whole: { ...SCORES, usage: { total_tokens: 11 } },
    tokens: INPUT_ONLY,
  },
  {
    name: 'embeddings',
    body: { model: 'm', input: 'a' },
    whole: VECTORS,
    // The request in bytes by four.
    tokens: { input: 7, output: 0, cached: 0, estimated: true },
  },
  {
    name: 'messages/count_tokens',
    body: { model: 'm', messages: HI },
    whole: { input_tokens: 11 },
    tokens: null,
  },
])('the usage of an answer of $name is $tokens', async ({ name, body, whole, tokens }) => {
  const { gateway } = await startBefore({ a: json(200, whole) });
  await send(`${gateway.url}/v1/${name}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
  const [row] = gateway.host.snapshot().requests;
  expect([row?.status, row?.tokens]).toEqual([200, tokens]);
});
