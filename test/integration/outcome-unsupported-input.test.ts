import { expect, test } from 'vitest';
import { chat, chatStream, expectServed, HELLO, textOf } from '../support/client.ts';
import { answers, json } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';

const llamaCpp = (kind: string) =>
  `{"error":{"code":500,"message":"${kind} input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`;

/** What engines say; those of llama.cpp are recorded from a llama-server 0.7.0, build 11669. */
const REFUSALS: readonly (readonly [says: string, status: number, body: string])[] = [
  ['llama.cpp to an image', 500, llamaCpp('image')],
  [
    'llama.cpp to a file',
    400,
    '{"error":{"code":400,"message":"unsupported content[].type","type":"invalid_request_error"}}',
  ],
  [
    'an older llama.cpp',
    500,
    JSON.stringify({
      error: {
        code: 500,
        message: `Failed to parse messages: Unsupported content part type: "image_url"; messages = ${'A'.repeat(20_000)}`,
        type: 'server_error',
      },
    }),
  ],
  [
    'SGLang',
    400,
    '{"object":"error","message":"Multimodal inputs are not supported when --language-model-only is set; the encoder is not loaded. Restart without the flag.","type":"BadRequestError","code":400}',
  ],
  [
    'Ollama',
    500,
    '{"error":{"message":"this model is missing data required for image input","type":"api_error","param":null,"code":null}}',
  ],
  [
    "Ollama's cloud",
    400,
    '{"error":{"message":"this model does not support image input (ref: 1)","type":"invalid_request_error","param":null,"code":null}}',
  ],
  ['LM Studio', 400, '{"error":"Model does not support images. Please use a model that does."}'],
];

const messageOf = (text: string): string => {
  const { error: refusal, message } = JSON.parse(text) as {
    error?: string | { message: string };
    message?: string;
  };
  return typeof refusal === 'string' ? refusal : (refusal?.message ?? message ?? '');
};

const PICTURE = {
  ...HELLO,
  messages: [
    {
      role: 'user',
      content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,A' } }],
    },
  ],
};

test.each(REFUSALS)(
  'input that an engine cannot read falls back, and with no other upstream its caller gets the words as a 4xx: %s (%i)',
  async (_says, status, body) => {
    const { gateway, local } = await startBefore({
      local: json(status, body),
      a: answers('I see it'),
    });
    const answer = await chatStream(gateway.url, PICTURE);
    expect(answer).toMatchObject({ status: 200, reason: 'local=unsupported_input' });
    expect(textOf(answer.text)).toBe('I see it');
    expect(local.calls).toHaveLength(1);

    const alone = await startBefore({ local: json(status, body) });
    const refused = await chat(alone.url, PICTURE);
    expect(refused).toMatchObject({ upstream: 'local', reason: 'none' });
    expect(refused.status).toBe(status < 500 ? status : 400);
    expect(refused.text).toContain(
      messageOf(body)
        .slice(0, 40)
        .replaceAll('"', String.raw`\"`),
    );
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
  expect(gateway.host.snapshot().status.circuits['local']).toMatchObject({
    open: false,
    fails: 0,
  });
});
