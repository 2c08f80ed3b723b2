import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, stepCountIs, streamText } from 'ai';
import { expect, test } from 'vitest';
import type { TestGateway } from '../support/gateway.ts';
import { answers, chunk, DONE, error, ROLE, sse, STOP, type Script } from '../support/upstream.ts';
import { weather } from '../support/weather.ts';
import { startBefore } from '../support/scene.ts';

// The Vercel AI SDK, unmodified, over its provider for OpenAI-compatible endpoints.

/** A model of the gateway's, as an application makes it. */
function modelOf(gateway: TestGateway) {
  const provider = createOpenAICompatible({
    name: 'inglenook',
    baseURL: `${gateway.url}/v1`,
    apiKey: 'the-callers-own-key',
    includeUsage: true,
  });
  return provider('my-model');
}

async function startHosted(...scripts: Script[]) {
  const { gateway, a } = await startBefore({ a: [...scripts] });
  return { upstream: a, gateway, model: modelOf(gateway) };
}

/** What a call throws; retries are off, because this SDK retries 5xx whatever the answer says. */
const ONCE = { prompt: 'hi', maxRetries: 0 } as const;

async function thrownBy(promise: PromiseLike<unknown>): Promise<APICallError> {
  const seen = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(seen).toSatisfy((thrown) => APICallError.isInstance(thrown));
  return seen as APICallError;
}

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const usageChunk = `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: USAGE })}\n\n`;

test('generateText gets text, finish reason and usage', async () => {
  const { upstream, model } = await startHosted(
    sse(ROLE, chunk({ content: 'hello ' }), chunk({ content: 'there' }), STOP, usageChunk, DONE),
  );
  const { text, finishReason, usage, response } = await generateText({ model, ...ONCE });
  expect([text, finishReason]).toEqual(['hello there', 'stop']);
  expect(usage).toMatchObject({ inputTokens: 3, outputTokens: 2, totalTokens: 5 });
  expect(response.headers).toMatchObject({
    'x-gateway-upstream': 'hosted_a',
    'x-gateway-fallback-reason': 'none',
  });
  expect(upstream.calls.map((call) => call.json['model'])).toEqual(['my-model']);
});

test('streamText gets the pieces as they come, and usage at the end', async () => {
  const { upstream, model } = await startHosted(
    sse(ROLE, chunk({ content: 'hello ' }), chunk({ content: 'there' }), STOP, usageChunk, DONE),
  );
  const result = streamText({ model, ...ONCE });
  const pieces: string[] = [];
  for await (const piece of result.textStream) pieces.push(piece);
  expect(pieces).toEqual(['hello ', 'there']);
  expect(await result.usage).toMatchObject({ inputTokens: 3, outputTokens: 2, totalTokens: 5 });
  expect(upstream.calls[0]?.json['stream_options']).toEqual({ include_usage: true });
});

const argument = (text: string) =>
  chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] });
const call = (args: string) => ({
  index: 0,
  id: 'call_1',
  type: 'function',
  function: { name: 'weather', arguments: args },
});
const CALLS = sse(
  ROLE,
  chunk({ tool_calls: [call('')] }),
  argument('{"city":'),
  argument('"Oslo"}'),
  chunk({}, 'tool_calls'),
  DONE,
);

test.each(['generateText', 'streamText'])('a tool call runs through %s', async (how) => {
  const { upstream, model } = await startHosted(CALLS, answers('It rains in Oslo.'));
  const asked: unknown[] = [];
  const tools = { weather: weather(asked) };
  const ask = { model, ...ONCE, tools, stopWhen: stepCountIs(2) };
  const text = how === 'generateText' ? (await generateText(ask)).text : await streamText(ask).text;
  expect([text, asked]).toEqual(['It rains in Oslo.', [{ city: 'Oslo' }]]);
  expect(upstream.calls[1]?.json['messages']).toMatchObject([
    { role: 'user' },
    { role: 'assistant', tool_calls: [{ id: 'call_1' }] },
    { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
  ]);
});

test.each<[name: string, script: Script, status: number, code: string, isRetryable: boolean]>([
  ['a bad request', error(400, 'no', 'bad_value'), 400, 'bad_value', false],
  [
    'a rate limit',
    error(429, 'no', null, { 'retry-after': '60' }),
    429,
    'upstream_rate_limited',
    true,
  ],
  ['a crash', error(500), 502, 'upstream_error', true],
])('%s is an API call error with its status and code', async (_title, script, ...wanted) => {
  const { gateway, model } = await startHosted(script);
  const thrown = await thrownBy(generateText({ model, ...ONCE }));
  const { error: body } = JSON.parse(thrown.responseBody ?? '') as {
    error: { code: string; message: string };
  };
  expect([thrown.statusCode, body.code, thrown.isRetryable]).toEqual(wanted);
  expect(thrown.message).toBe(body.message);
  expect(gateway.host.snapshot().status.stats.totalRequests).toBe(1);
});

test('an error object inside a stream is an error part, not the end of a whole answer', async () => {
  const { model } = await startHosted(
    sse(ROLE, chunk({ content: 'a' }), 'data: {"error":{"message":"no"}}\n\n'),
  );
  const errors: unknown[] = [];
  const result = streamText({
    model,
    ...ONCE,
    onError: ({ error: each }) => void errors.push(each),
  });
  let text = '';
  for await (const piece of result.textStream) text += piece;
  expect([text, errors.length]).toEqual(['a', 1]);
  expect(errors[0]).toMatchObject({ code: 'upstream_error' });
  expect(await result.finishReason).toBe('error');
});
