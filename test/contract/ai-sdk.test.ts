import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { expect, test } from 'vitest';
import { SAID, type Reply } from '../support/chat-answers.ts';
import { rejectionOf } from '../support/client.ts';
import { startBefore } from '../support/scene.ts';
import { startSpeaker, WAYS } from '../support/speakers.ts';
import { chunk, error, ROLE, sse, type Script } from '../support/upstream.ts';

// The Vercel AI SDK, unmodified: its provider for OpenAI-compatible endpoints, and `@ai-sdk/openai` as it comes, whose
// default is the Responses API.

const apiKey = 'the-callers-own-key';
const chatModelOf = (url: string) =>
  createOpenAICompatible({ name: 'inglenook', baseURL: `${url}/v1`, apiKey, includeUsage: true })(
    'my-model',
  );
const responsesModelOf = (url: string) =>
  createOpenAI({ baseURL: `${url}/v1`, apiKey })('my-model');

/** What a call throws; retries are off, because this SDK retries 5xx whatever the answer says. */
const ONCE = { prompt: 'hi', maxRetries: 0 } as const;

const CASES = [
  ...WAYS.filter(({ way }) => way === 'translated').map((each) => ({
    ...each,
    api: 'chat completions',
    modelOf: chatModelOf,
  })),
  ...WAYS.map((each) => ({ ...each, api: 'responses', modelOf: responsesModelOf })),
];

test.each(CASES)(
  'a text with its usage comes to the AI SDK by $api through $place ($way), plain and streamed',
  async ({ modelOf, ...way }) => {
    const model = modelOf((await startSpeaker(way, SAID)).url);
    const { text, finishReason, usage } = await generateText({ model, ...ONCE });
    expect([text, finishReason]).toEqual(['Hello.', 'stop']);
    expect(usage).toMatchObject({ inputTokens: 12, outputTokens: 7, totalTokens: 19 });
    const pieces: string[] = [];
    const streamed = streamText({ model, ...ONCE });
    for await (const piece of streamed.textStream) pieces.push(piece);
    expect([pieces.join(''), await streamed.finishReason]).toEqual(['Hello.', 'stop']);
    expect(await streamed.usage).toMatchObject({ inputTokens: 12, outputTokens: 7 });
  },
);

const CALLS: Reply = {
  ...SAID,
  text: 'Let me see.',
  calls: [{ id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' }],
  finish: 'tool_calls',
};

test.each(CASES.flatMap((each) => ['generateText', 'streamText'].map((how) => ({ ...each, how }))))(
  'a tool runs in $how by $api through $place ($way), and so does the turn after it',
  async ({ modelOf, how, ...way }) => {
    const { url, bodies } = await startSpeaker(way, CALLS, { ...SAID, text: 'Rain.' });
    const asked: unknown[] = [];
    const weather = tool({
      description: 'weather',
      inputSchema: jsonSchema<{ city: string }>({ properties: { city: { type: 'string' } } }),
      execute(input) {
        asked.push(input);
        return 'rain';
      },
    });
    const ask = { model: modelOf(url), ...ONCE, tools: { weather }, stopWhen: stepCountIs(2) };
    const text =
      how === 'generateText' ? (await generateText(ask)).text : await streamText(ask).text;
    expect([text, asked]).toEqual(['Rain.', [{ city: 'Oslo' }]]);
    // By responses the SDK refers to its own earlier answer by the id of the item.
    expect(bodies()[1]?.['messages']).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: 'Let me see.', tool_calls: [{ id: 'call_1' }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
    ]);
  },
);

async function startHosted(script: Script) {
  const { gateway } = await startBefore({ a: script });
  return { gateway, model: chatModelOf(gateway.url) };
}

async function thrownBy(promise: PromiseLike<unknown>): Promise<APICallError> {
  const seen = await rejectionOf(promise);
  expect(seen).toSatisfy((thrown) => APICallError.isInstance(thrown));
  return seen as APICallError;
}

const LIMITED = error(429, 'no', null, { 'retry-after': '60' });

test.each<[name: string, script: Script, status: number, code: string, isRetryable: boolean]>([
  ['a bad request', error(400, 'no', 'bad_value'), 400, 'bad_value', false],
  ['a rate limit', LIMITED, 429, 'upstream_rate_limited', true],
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
  const onError = ({ error: each }: { readonly error: unknown }) => void errors.push(each);
  const result = streamText({ model, ...ONCE, onError });
  let text = '';
  for await (const piece of result.textStream) text += piece;
  expect([text, errors.length]).toEqual(['a', 1]);
  expect(errors[0]).toMatchObject({ code: 'upstream_error' });
  expect(await result.finishReason).toBe('error');
});
