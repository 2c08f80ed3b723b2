import { OpenAI } from 'openai';
import { expect, test } from 'vitest';
import { HELLO } from '../support/client.ts';
import { begun, goesOn, rejectsPrefill, startHandover, TEXT, told } from '../support/handover.ts';
import { chunkOf } from '../support/resume.ts';
import { cut, sse, type Script } from '../support/upstream.ts';

// The `openai` package, unmodified, while upstreams break off behind the gateway.

const STREAM = {
  ...HELLO,
  model: 'my-model',
  stream: true,
} as OpenAI.ChatCompletionCreateParamsStreaming;

async function startClient(scripts: readonly Script[], settings: Record<string, string> = {}) {
  const { gateway } = await startHandover(scripts, settings);
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'any', maxRetries: 0 });
}

test.each<[name: string, scripts: readonly Script[], more: object]>([
  ['that one other went on with', [cut(...begun('a', 3)), goesOn('b')], {}],
  ['that only the third went on with', [cut(...begun('a', 3)), rejectsPrefill, goesOn('c')], {}],
  ['that was given anew', [cut(...begun('a', 3)), sse(...told('b'))], { temperature: 0 }],
])('an answer %s is one ordinary answer to a streaming client', async (_title, scripts, more) => {
  const settings: Record<string, string> =
    'temperature' in more ? { HOSTED_B_PREFILL: 'none' } : {};
  const client = await startClient(scripts, settings);
  const stream = client.chat.completions.stream({ ...STREAM, ...more });
  const deltas: string[] = [];
  const ids = new Set<string>();
  stream.on('content', (delta) => deltas.push(delta));
  stream.on('chunk', ({ id }) => ids.add(id));
  const whole = await stream.finalChatCompletion();
  expect(whole).toMatchObject({
    id: 'a',
    model: 'model-a',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: TEXT } }],
  });
  expect(deltas.join('')).toBe(TEXT);
  expect([...ids]).toEqual(['a']);
});

test('usage that the client asked for comes once, with what was sent before the cut', async () => {
  const usage = { prompt_tokens: 9, completion_tokens: 6, total_tokens: 15 };
  const last = chunkOf('b', {}, 'stop', { usage });
  const client = await startClient([
    cut(...begun('a', 3)),
    sse(...told('b', [TEXT.slice(16)]).slice(0, -2), last),
  ]);
  const stream = client.chat.completions.stream({
    ...STREAM,
    stream_options: { include_usage: true },
  });
  const whole = await stream.finalChatCompletion();
  expect(whole.choices[0]?.message.content).toBe(TEXT);
  expect(whole.usage).toEqual({ prompt_tokens: 6, completion_tokens: 9, total_tokens: 15 });
});

test('a broken answer that no upstream continues is an error to the client, never a short answer', async () => {
  const client = await startClient([cut(...begun('a', 3)), rejectsPrefill, rejectsPrefill]);
  const texts: string[] = [];
  const read = async () => {
    for await (const part of await client.chat.completions.create(STREAM)) {
      texts.push(part.choices[0]?.delta.content ?? '');
    }
  };
  await expect(read()).rejects.toThrow(OpenAI.APIError);
  expect(texts.join('')).toBe('The quick brown ');
});
