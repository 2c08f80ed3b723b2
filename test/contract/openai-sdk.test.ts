import { OpenAI } from 'openai';
import { expect, test } from 'vitest';
import { HELLO } from '../support/client.ts';
import type { TestGateway } from '../support/gateway.ts';
import {
  answers,
  chunk,
  completion,
  DONE,
  json,
  ROLE,
  sse,
  STOP,
  type Script,
} from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

// The `openai` package, unmodified, as an application uses it.

/** A client with nothing set but the address and a key. */
function clientOf(gateway: TestGateway, prefix = '/v1'): OpenAI {
  return new OpenAI({ baseURL: gateway.url + prefix, apiKey: 'the-callers-own-key' });
}

/** A gateway whose `hosted_a` is scripted, and a client of it. */
async function startHosted(script: Script, settings: Record<string, string> = {}) {
  const { gateway, a } = await startBefore({ a: script }, settings);
  return { upstream: a, gateway, client: clientOf(gateway) };
}

const ASK = { ...HELLO, model: 'my-model' } as OpenAI.ChatCompletionCreateParamsNonStreaming;
const STREAM = { ...ASK, stream: true } as const;

test.each(['/v1', '/api/v1'])('a plain completion comes through %s', async (prefix) => {
  const { upstream, gateway } = await startHosted(answers('hello there'));
  const { data, response } = await clientOf(gateway, prefix)
    .chat.completions.create(ASK)
    .withResponse();
  expect(data.choices).toEqual([
    {
      index: 0,
      message: { role: 'assistant', content: 'hello there' },
      finish_reason: 'stop',
    },
  ]);
  expect(data).toMatchObject({ object: 'chat.completion', id: 'c1', model: 'm' });
  expect(response.headers.get('x-gateway-upstream')).toBe('hosted_a');
  expect(upstream.calls.map((call) => call.json['model'])).toEqual(['my-model']);
});

test('a streamed completion comes chunk by chunk', async () => {
  const { client } = await startHosted(answers('hello there you'));
  const texts: string[] = [];
  for await (const part of await client.chat.completions.create(STREAM)) {
    texts.push(part.choices[0]?.delta.content ?? '');
  }
  expect(texts).toEqual(['', 'hello ', 'there ', 'you', '']);
});

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const usageChunk = `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: USAGE })}\n\n`;

test('a client that asks for usage in its stream gets it in the last chunk', async () => {
  const withUsage = sse(ROLE, chunk({ content: 'hi' }), STOP, usageChunk, DONE);
  const { upstream, client } = await startHosted(withUsage);
  const usages: unknown[] = [];
  const stream = await client.chat.completions.create({
    ...STREAM,
    stream_options: { include_usage: true },
  });
  for await (const part of stream) usages.push(part.usage);
  expect(usages.at(-1)).toEqual(USAGE);
  expect(upstream.calls[0]?.json['stream_options']).toEqual({ include_usage: true });
});

const CALL = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '' } };
const argument = (text: string, index = 0) =>
  chunk({ tool_calls: [{ index, function: { arguments: text } }] });
const whole = (id: string, city: string) => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: JSON.stringify({ city }) },
});
const CALLED = chunk({}, 'tool_calls');

/** The same one call, as engines differ in sending it. */
const TOOL_CALLS: [name: string, script: Script][] = [
  [
    'in pieces',
    sse(
      ROLE,
      chunk({ tool_calls: [{ index: 0, ...CALL }] }),
      argument('{"city":'),
      argument('"Oslo"}'),
      CALLED,
      DONE,
    ),
  ],
  [
    'as a whole',
    sse(ROLE, chunk({ tool_calls: [{ index: 0, ...whole('call_1', 'Oslo') }] }), CALLED, DONE),
  ],
  [
    'as JSON',
    json(200, {
      ...completion(''),
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: null, tool_calls: [whole('call_1', 'Oslo')] },
          finish_reason: 'tool_calls',
        },
      ],
    }),
  ],
];

const TOOLS: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } },
];

test.each(TOOL_CALLS)(
  'a tool call that comes %s reaches a streaming client',
  async (_title, script) => {
    const { client } = await startHosted(script);
    const stream = client.chat.completions.stream({ ...STREAM, tools: TOOLS });
    const [choice] = (await stream.finalChatCompletion()).choices;
    expect(choice?.finish_reason).toBe('tool_calls');
    expect(choice?.message.tool_calls).toMatchObject([whole('call_1', 'Oslo')]);
  },
);
