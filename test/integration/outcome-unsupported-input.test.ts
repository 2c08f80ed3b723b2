import { expect, test } from 'vitest';
import { chat, chatStream, HELLO, textOf } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, error, json, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';

const llamaCpp = (kind: string) =>
  `{"error":{"code":500,"message":"${kind} input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`;

/** What engines say; those of llama.cpp are recorded from a llama-server 0.7.0, build 11669. */
const REFUSALS: readonly (readonly [says: string, status: number, body: string])[] = [
  ['llama.cpp to an image', 500, llamaCpp('image')],
  ['llama.cpp to audio', 500, llamaCpp('audio')],
  ['llama.cpp to a video', 500, llamaCpp('video')],
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
    'vLLM',
    400,
    '{"object":"error","message":"qwen3 is not a multimodal model","type":"BadRequestError","param":null,"code":400}',
  ],
  [
    'vLLM with pictures switched off',
    400,
    '{"error":{"message":"At most 0 image(s) may be provided in one prompt.","type":"BadRequestError","param":"image","code":400}}',
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
  [
    'OpenRouter',
    404,
    '{"error":{"message":"No endpoints found that support image input","code":404}}',
  ],
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
  'input that an engine cannot read falls back: %s (%i)',
  async (_says, status, body) => {
    const local = await startUpstream(json(status, body));
    const hosted = await startUpstream(answers('I see it'));
    const gateway = await startGateway(at({ local: local.url, hosted_a: hosted.url }));
    const answer = await chatStream(gateway.url, PICTURE);
    expect(answer).toMatchObject({ status: 200, reason: 'local=unsupported_input' });
    expect(textOf(answer.text)).toBe('I see it');
    expect(local.calls).toHaveLength(1);
  },
);

const OWN = REFUSALS.filter(([, status]) => status < 500);
const WORDED = REFUSALS.filter(([, status]) => status >= 500);

test.each(OWN)(
  'a refusal of input goes back byte for byte where no other upstream can serve: %s (%i)',
  async (...row) => {
    const [, status, body] = row;
    const local = await startUpstream(json(status, body));
    const gateway = await startGateway(at({ local: local.url }));
    const answer = await chat(gateway.url, PICTURE);
    expect(answer).toMatchObject({ status, upstream: 'local', reason: 'none', text: body });
    expect(local.calls).toHaveLength(1);
  },
);

test.each(WORDED)(
  'a refusal of input with a 5xx is a 400 in the words of the engine where no other can serve: %s (%i)',
  async (...row) => {
    const [, status, body] = row;
    const local = await startUpstream(json(status, body));
    const gateway = await startGateway(at({ local: local.url }));
    const answer = await chat(gateway.url, PICTURE);
    expect(answer).toMatchObject({ status: 400, upstream: 'local', reason: 'none' });
    const { error: told } = JSON.parse(answer.text) as { error: Record<string, unknown> };
    expect(told).toMatchObject({ type: 'invalid_request_error', code: 'unsupported_input' });
    expect(told['message']).toContain(messageOf(body).slice(0, 40));
    // Some repeat the whole prompt.
    expect(answer.text.length).toBeLessThan(1000);
    expect(local.calls).toHaveLength(1);
  },
);

test('a refusal of input goes back as a 400 when a later upstream fails for another reason', async () => {
  const local = await startUpstream(json(500, llamaCpp('image')));
  const hosted = await startUpstream(error(503));
  const gateway = await startGateway(at({ local: local.url, hosted_a: hosted.url }));
  const answer = await chat(gateway.url, PICTURE);
  expect(answer).toMatchObject({
    status: 400,
    upstream: 'local',
    reason: 'local=unsupported_input; hosted_a=http_503',
  });
  expect(messageOf(answer.text)).toMatch(/^image input is not supported - hint/);
});

test('input that an engine cannot read never opens the circuit for other callers', async () => {
  const local = await startUpstream(json(500, llamaCpp('image')));
  const hosted = await startUpstream(answers('I see it'));
  const gateway = await startGateway({
    ...at({ local: local.url, hosted_a: hosted.url }),
    FAIL_THRESHOLD: '1',
  });
  for (let n = 0; n < 10; n += 1) await chat(gateway.url, PICTURE);
  local.script = answers('from local');
  expect(await chat(gateway.url)).toMatchObject({ upstream: 'local', reason: 'none' });
  expect(local.calls).toHaveLength(11);
  expect(gateway.host.snapshot().status.circuits['local']).toMatchObject({
    open: false,
    fails: 0,
  });
});
