import { expect, test } from 'vitest';
import { chat, chatStream, expectServed, textOf } from '../support/client.ts';
import { answers, json } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

const llamaCpp = (kind: string) =>
  `{"error":{"code":500,"message":"${kind} input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`;

const OLD_LLAMA_CPP = `Failed to parse messages: Unsupported content part type: \\"image_url\\"; messages = ${'A'.repeat(20_000)}`;
const LANGUAGE_ONLY =
  'Multimodal inputs are not supported when --language-model-only is set; the encoder is not loaded.';
const said = (message: string) => `{"error":{"message":"${message}","param":null,"code":null}}`;

/** What engines say; those of llama.cpp are recorded from a llama-server 0.7.0, build 11669. */
const REFUSALS: readonly (readonly [says: string, status: number, body: string])[] = [
  ['llama.cpp to an image', 500, llamaCpp('image')],
  ['llama.cpp to a file', 400, '{"error":{"code":400,"message":"unsupported content[].type"}}'],
  ['an older llama.cpp', 500, `{"error":{"code":500,"message":"${OLD_LLAMA_CPP}"}}`],
  ['SGLang', 400, `{"object":"error","message":"${LANGUAGE_ONLY}","code":400}`],
  ['Ollama', 500, said('this model is missing data required for image input')],
  ["Ollama's cloud", 400, said('this model does not support image input (ref: 1)')],
  ['LM Studio', 400, '{"error":"Model does not support images. Please use a model that does."}'],
];

const messageOf = (text: string): string => {
  const { error: refusal, message } = JSON.parse(text) as {
    error?: string | { message: string };
    message?: string;
  };
  return typeof refusal === 'string' ? refusal : (refusal?.message ?? message ?? '');
};

const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,A' } };
const PICTURE = { messages: [{ role: 'user', content: [IMAGE] }] };

test.each(REFUSALS)(
  'input that an engine cannot read falls back, and with no other upstream its caller gets the words as a 4xx: %s (%i)',
  async (_says, status, body) => {
    const refusal = json(status, body);
    const { gateway, local } = await startBefore({ local: refusal, a: answers('I see it') });
    const answer = await chatStream(gateway.url, PICTURE);
    expect(answer).toMatchObject({ status: 200, reason: 'local=unsupported_input' });
    expect(textOf(answer.text)).toBe('I see it');
    expect(local.calls).toHaveLength(1);

    const alone = await startBefore({ local: refusal });
    const refused = await chat(alone.url, PICTURE);
    expect(refused).toMatchObject({ upstream: 'local', reason: 'none' });
    expect(refused.status).toBe(status < 500 ? status : 400);
    const words = JSON.stringify(messageOf(body)).slice(1, 40);
    expect(refused.text).toContain(words);
    // Some repeat the whole prompt.
    expect(refused.text.length).toBeLessThan(1000);
    expect(alone.local.calls).toHaveLength(1);
  },
);

test('input that an engine cannot read never opens the circuit for other callers', async () => {
  const { gateway, local } = await startBefore(
    { local: json(500, llamaCpp('image')), a: answers('I see it') },
    { FAIL_THRESHOLD: '1' },
  );
  for (let n = 0; n < 10; n += 1) await chat(gateway.url, PICTURE);
  local.script = answers('from local');
  expectServed(await chat(gateway.url), 'local');
  expect(local.calls).toHaveLength(11);
  expect(gateway.host.snapshot().status.circuits['local']).toMatchObject({ open: false, fails: 0 });
});
