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
import { usageChunk, usageOf } from '../support/usage.ts';

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
  const { completions } = clientOf(gateway, prefix).chat;
  const { data, response } = await completions.create(ASK).withResponse();
  expect(data).toEqual(completion('hello there'));
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

test('a client that asks for usage in its stream gets it in the last chunk', async () => {
  const withUsage = sse(ROLE, chunk({ content: 'hi' }), STOP, usageChunk(3, 2), DONE);
  const { upstream, client } = await startHosted(withUsage);
  const usages: unknown[] = [];
  const stream = await client.chat.completions.create({
    ...STREAM,
    stream_options: { include_usage: true },
  });
  for await (const part of stream) usages.push(part.usage);
  expect(usages.at(-1)).toEqual(usageOf(3, 2));
  expect(upstream.calls[0]?.json['stream_options']).toEqual({ include_usage: true });
});

const named = (args: string) => ({ name: 'weather', arguments: args });
const BEGUN = { id: 'call_1', type: 'function', function: named('') };
const WHOLE = { ...BEGUN, function: named('{"city":"Oslo"}') };
const more = (args: string) => ({ function: { arguments: args } });
const calls = (...pieces: readonly object[]) =>
  pieces.map((piece) => chunk({ tool_calls: [{ index: 0, ...piece }] }));
const CALLED = [chunk({}, 'tool_calls'), DONE];
const message = { role: 'assistant', content: null, tool_calls: [WHOLE] };
const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];

/** The same one call, as engines differ in sending it. */
const TOOL_CALLS: [name: string, script: Script][] = [
  ['in pieces', sse(ROLE, ...calls(BEGUN, more('{"city":'), more('"Oslo"}')), ...CALLED)],
  ['as a whole', sse(ROLE, ...calls(WHOLE), ...CALLED)],
  ['as JSON', json(200, { ...completion(''), choices })],
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
    expect(choice?.message.tool_calls).toMatchObject([WHOLE]);
  },
);
