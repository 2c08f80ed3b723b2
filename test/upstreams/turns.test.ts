import { expect, test } from 'vitest';
import { SAID } from '../support/chat-answers.ts';
import { createManualClock } from '../support/clock.ts';
import { startCall } from '../support/client.ts';
import { answers, error, json, type Script, sse } from '../support/upstream.ts';
import { startBefore } from '../support/scene.ts';
import { startBetween } from './between.ts';
import { ask, inEach } from './caller.ts';
import { anthropic, openAi } from './refused.ts';
import { MESSAGE_START, messageEnd, saying, textBlock } from './speech.ts';

const TEXT = { text: SAID.text };

test('NVIDIA NIM, which falls silent if it is asked for usage, is not asked for it again', async () => {
  const clock = createManualClock();
  const { url, system } = await startBetween(
    'hosted_a',
    // github.com/HKUDS/DeepTutor/issues/420
    (call) => ('stream_options' in call.json ? undefined : saying(SAID, { usage: 'none' })(call)),
    { HEDGE: 'off', HOSTED_A_TIMEOUT_MS: '5000' },
    clock,
  );
  const silent = ask(url, { protocol: 'messages', isStream: true });
  await system.call(1);
  clock.advance(5000);
  expect(await silent).toMatchObject({ upstream: 'hosted_b', reason: 'hosted_a=timeout' });
  const again = await ask(url, { protocol: 'messages', isStream: true });
  expect(again).toMatchObject({ upstream: 'hosted_a', ...TEXT });
});

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: SAID.text }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 2 },
};
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  error: null,
  output: [
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: SAID.text }],
    },
  ],
};
const NATIVE_WHOLE = { HOSTED_A_PROTOCOLS: 'native', HOSTED_A_ASSEMBLE: 'false' };
const HI = { role: 'user', content: 'hi' };

interface Answered {
  readonly content: readonly object[];
  readonly output: readonly object[];
}

/** Anthropic and OpenAI refuse signatures and encrypted reasoning that they did not write themselves. */
test.each([
  {
    path: '/v1/messages',
    placeholder: '"unsigned"',
    refusal: anthropic('x', 'messages.1.content.0: Invalid `signature` in `thinking` block'),
    whole: MESSAGE,
    asks: (turns: readonly object[]) => ({ max_tokens: 9, messages: turns }),
    turnOf: ({ content }: Answered): readonly object[] => [{ role: 'assistant', content }],
  },
  {
    path: '/v1/responses',
    placeholder: 'unencrypted',
    refusal: openAi('The encrypted content could not be verified.'),
    whole: RESPONSE,
    asks: (turns: readonly object[]) => ({
      store: false,
      include: ['reasoning.encrypted_content'],
      input: turns,
    }),
    turnOf: ({ output }: Answered) => output,
  },
])(
  'a conversation with a local engine at $path continues at a hosted API that checks its own thoughts',
  async ({ path, placeholder, refusal, whole, asks, turnOf }) => {
    const { url, local, a } = await startBefore(
      {
        local: saying({ ...SAID, reasoning: 'Hm.' }, {}),
        a: (call) =>
          (call.body.includes(placeholder) ? json(400, refusal) : json(200, whole))(call),
      },
      { LOCAL_PROTOCOLS: 'chat', ...NATIVE_WHOLE },
    );
    const send = (...turns: readonly object[]) =>
      startCall(url + path, { model: 'm', ...asks(turns) }).answer;
    const first = await send(HI);
    expect(first.text).toContain(placeholder);
    local.script = error(503);
    const second = await send(HI, ...turnOf(JSON.parse(first.text) as Answered), HI);
    expect([second.status, second.upstream, a.calls.length]).toEqual([200, 'hosted_a', 1]);
  },
);

const asked = { protocol: 'messages', isStream: true } as const;

const spoken = [MESSAGE_START, ...textBlock(SAID.text), ...messageEnd('end_turn')].join('');

test.each([
  // github.com/davidmigloz/langchain_dart/issues/778: Kimi.
  ['without blanks', spoken.replaceAll(': ', ':')],
  ['whose lines end with CR and LF', spoken.replaceAll('\n', '\r\n')],
  ['that ends with [DONE]', `${spoken}data: [DONE]\n\n`],
])('a stream of the Messages API %s is understood', async (_how, bytes) => {
  const native = { HOSTED_A_PROTOCOLS: 'native' };
  const { url } = await startBetween('hosted_a', sse(bytes), native);
  const whole = { upstream: 'hosted_a', end: 'whole', finish: 'stop', faults: [], ...TEXT };
  expect(await ask(url, asked)).toMatchObject(whole);
  expect(await ask(url, { ...asked, isStream: false })).toMatchObject(whole);
});

test('an upstream of the Messages API is sent a protocol version if the caller named none', async () => {
  // github.com/InternLM/lmdeploy, serve/anthropic
  const native = { HOSTED_A_PROTOCOLS: 'native', HOSTED_A_ASSEMBLE: 'false' };
  const { url, system } = await startBetween('hosted_a', json(200, MESSAGE), native);
  await ask(url, { protocol: 'messages', isStream: false });
  expect(system.calls[0]?.headers['anthropic-version']).toBe('2023-06-01');
});

const UNKNOWN_PATH = { error: 'Unexpected endpoint or method. Returning 200 anyway' };

test.each([
  // github.com/OpenHands/OpenHands/issues/419
  ['LM Studio, which does not know the path', 'messages', 200, UNKNOWN_PATH],
  ['LM Studio, which does not know the path', 'responses', 200, UNKNOWN_PATH],
  // github.com/ggml-org/llama.cpp/issues/20156, /vllm-project/vllm/issues/42475
  ['llama.cpp under another name', 'responses', 400, openAi("'type' of tool must be 'function'")],
  [
    'vLLM',
    'responses',
    400,
    openAi(
      "[{'type': 'literal_error', 'loc': ('body', 'tools', 11, 'CodeInterpreter', 'type'), 'msg': \"Input should be 'code_interpreter'\"}]",
      null,
    ),
  ],
  // github.com/CommandCodeAI/command-code/issues/885, /coder/coder/issues/28656, /Alishahryar1/free-claude-code/issues/859
  ...[
    'Only `type:"function"` tools are supported on this endpoint.',
    'malformed request: failed to parse JSON for /v1/responses: unknown tool type',
    "Unsupported Responses tool type: 'custom'",
  ].map((says) => ['a gateway', 'responses', 400, openAi(says)] as const),
  // github.com/vllm-project/vllm/issues/45273: the history of Codex and OpenCode, each fault with all of it.
  [
    'vLLM, which repeats the history in megabytes',
    'responses',
    400,
    openAi(
      `240 validation errors:\n${"  {'type': 'string_type', 'loc': ('body', 'input', 'str'), 'msg': 'Input should be a valid string', 'input': [{'role': 'user', 'content': 'context length'}]}\n".repeat(20_000)}`,
      null,
    ),
  ],
  // github.com/Mangi-11/Eta/issues/59
  ['llama.cpp of 2026', 'responses', 400, openAi("Cannot determine type of 'item'")],
  [
    'an engine that checks a history with pydantic',
    'responses',
    422,
    { detail: [{ loc: ['body', 'input', 'list[union]', 1, 'id'], msg: 'Field required' }] },
  ],
  [
    'an engine that checks a history with zod',
    'responses',
    400,
    {
      error: { message: "Invalid discriminator value. Expected 'message'", param: 'input.0.type' },
    },
  ],
  [
    'an engine that takes no lists in a history',
    'messages',
    400,
    openAi('messages.1.content: Input should be a valid string'),
  ],
] as const)(
  '%s gets requests of %s as chat completions where it refuses them',
  async (_, protocol, status, refusal) => {
    const script: Script = (call) =>
      call.path.endsWith('/chat/completions') ? answers('hi')(call) : json(status, refusal)(call);
    const { url, system } = await startBetween('local', script, { LOCAL_PROTOCOLS: 'auto' });
    for (let n = 0; n < 2; n += 1) {
      const told = await ask(url, { protocol, isStream: true });
      expect(told).toMatchObject({ upstream: 'local', text: 'hi', reason: 'none' });
    }
    expect(system.calls).toHaveLength(3);
  },
);

test.each(inEach([true, false].map((isStream) => ({ isStream }))))(
  'letters whose bytes come one by one are whole in $protocol, streamed: $isStream',
  async ({ protocol, isStream }) => {
    const text = 'é 天気 😀';
    const { url } = await startBetween('hosted_a', (call) => {
      const { res } = call;
      const write = (bytes: Buffer | string) =>
        [...Buffer.from(bytes)].every((byte) => http.write(Buffer.of(byte), 'utf8'));
      const http = { write: res.write.bind(res), end: res.end.bind(res) };
      res.write = write;
      res.end = (last?: unknown) => {
        if (typeof last === 'string') write(last);
        return http.end('', 'utf8');
      };
      return saying({ ...SAID, text }, {})(call);
    });
    expect(await ask(url, { protocol, isStream })).toMatchObject({ upstream: 'hosted_a', text });
  },
);
