import { expect, test } from 'vitest';
import { chat, HELLO, startChat, type Answer } from '../support/client.ts';
import { counted, inFlight, turns } from '../support/report.ts';
import {
  answers,
  chunk,
  completion,
  cut,
  DONE,
  json,
  ROLE,
  sse,
  stall,
  STOP,
  type Script,
} from '../support/upstream.ts';
import { startBefore, startStill } from '../support/scene.ts';

const A = chunk({ content: 'a' });
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const withCalls = (...calls: readonly unknown[]) => chunk({ tool_calls: calls });

async function ask(script: Script, body: unknown = HELLO, settings: Record<string, string> = {}) {
  const { gateway, a } = await startBefore({ a: script }, settings);
  const answer = await chat(gateway.url, body);
  return { answer, upstream: a, gateway };
}

interface Assembled {
  readonly choices: readonly [{ readonly message: unknown; readonly finish_reason: unknown }];
}
const parsed = (answer: Answer) => JSON.parse(answer.text) as Assembled & Record<string, unknown>;

const BEGUN = { role: 'assistant', content: 'Once upon' };

test('a stream is assembled into the answer that the caller asked for', async () => {
  const { answer, gateway } = await ask(answers('one two three'));
  expect(answer).toMatchObject({ status: 200, upstream: 'hosted_a', reason: 'none' });
  expect(answer.headers['content-type']).toBe('application/json');
  expect(answer.headers['content-length']).toBe(String(answer.body.length));
  expect(parsed(answer)).toEqual({
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'one two three' },
        finish_reason: 'stop',
      },
    ],
  });
  expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 0, successes: 1 });
});

const CALL = { id: 'x', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
const CALL_2 = { id: 'y', type: 'function', function: { name: 'g', arguments: '{}' } };
const piece = (index: number, args: string) => ({ index, function: { arguments: args } });
const begin = (index: number, call: typeof CALL) => ({
  index,
  ...call,
  function: { name: call.function.name, arguments: '' },
});

test.each<[name: string, events: readonly string[], message: unknown]>([
  [
    'reasoning under its other name',
    [chunk({ reasoning: 'he' }), chunk({ reasoning: 'm' }), A],
    { role: 'assistant', content: 'a', reasoning: 'hem' },
  ],
  [
    'role and content in one event',
    [chunk({ role: 'assistant', content: 'a' })],
    { role: 'assistant', content: 'a' },
  ],
  ['no role at all', [A, A], { role: 'assistant', content: 'aa' }],
  [
    'an empty content that stays text',
    [chunk({ content: '' }), withCalls(begin(0, CALL), piece(0, '{"a":1}'))],
    { role: 'assistant', content: '', tool_calls: [CALL] },
  ],
  [
    'two tool calls, interleaved',
    [
      withCalls(begin(0, CALL)),
      withCalls(begin(1, CALL_2)),
      withCalls(piece(0, '{"a":'), piece(1, '{')),
      withCalls(piece(1, '}'), piece(0, '1}')),
    ],
    { role: 'assistant', content: null, tool_calls: [CALL, CALL_2] },
  ],
  [
    'the old function_call',
    [
      chunk({ function_call: { name: 'f', arguments: '' } }),
      chunk({ function_call: { arguments: '{}' } }),
    ],
    { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
  ],
  [
    'a refusal',
    [chunk({ refusal: 'n' }), chunk({ refusal: 'o' })],
    { role: 'assistant', content: null, refusal: 'no' },
  ],
  [
    'unknown fields of the delta',
    [chunk({ content: 'a', annotations: [1] }), chunk({ annotations: [2] })],
    { role: 'assistant', content: 'a', annotations: [1, 2] },
  ],
  [
    'chunks without choices and comments between',
    [': hi\n\n', event({ id: 'c1' }), A, 'event: ping\n\n'],
    { role: 'assistant', content: 'a' },
  ],
  ['lines that end in CRLF', [A.replaceAll('\n', '\r\n')], { role: 'assistant', content: 'a' }],
])('the assembled message is whole with %s', async (_name, events, message) => {
  const { answer } = await ask(
    sse(ROLE.replace('"content":""', '"x":null'), ...events, STOP, DONE),
  );
  expect(parsed(answer).choices[0].message).toEqual(message);
});

test('an assembled answer is sent at [DONE], though the upstream keeps its connection open', async () => {
  const { answer } = await ask(stall(A, STOP, DONE));
  expect(parsed(answer).choices[0].message).toEqual({ role: 'assistant', content: 'a' });
});

const odd =
  '{ "messages" : [{"role":"user","content":"\\u0068i"}],\n "seed":12345678901234567890, "temperature":1.0';

test.each([
  ['no stream field', `${odd}}`, `${odd},"stream":true,"stream_options":{"include_usage":true}}`],
  [
    'stream:false',
    `${odd}, "stream": false }`,
    `${odd}, "stream": true ,"stream_options":{"include_usage":true}}`,
  ],
  [
    'stream:null',
    `${odd},"stream":null}`,
    `${odd},"stream":true,"stream_options":{"include_usage":true}}`,
  ],
  [
    'own stream options',
    `{"stream_options":{"x":1},${odd.slice(1)}}`,
    `{"stream_options":{"x":1,"include_usage":true},${odd.slice(1)},"stream":true}`,
  ],
])(
  'a request with %s reaches the upstream as one for a stream with usage, with every other byte unchanged',
  async (_name, body, asked) => {
    const { upstream, answer } = await ask(answers('x'), body);
    expect(upstream.calls.map((call) => call.body.toString())).toEqual([asked]);
    expect(answer.status).toBe(200);
  },
);

test.each<[name: string, body: Record<string, unknown>, settings: Record<string, string>]>([
  ['n over 1', { ...HELLO, n: 2 }, {}],
  ['logprobs', { ...HELLO, logprobs: true }, {}],
  ['audio', { ...HELLO, audio: { voice: 'x' } }, {}],
  ['an audio modality', { ...HELLO, modalities: ['text', 'audio'] }, {}],
  ['an answer that the caller has begun', { messages: [...HELLO.messages, BEGUN] }, {}],
  ['assembly switched off', { ...HELLO, stream: false }, { HOSTED_A_ASSEMBLE: 'false' }],
])(
  'a request with %s is not assembled, with the bytes unchanged both ways',
  async (_name, body, settings) => {
    const reply = ` ${JSON.stringify(completion('x'))} `;
    const { upstream, answer } = await ask(json(200, reply), body, settings);
    expect(upstream.calls.map((call) => call.body.toString())).toEqual([JSON.stringify(body)]);
    expect(answer.text).toBe(reply);
  },
);

test('a JSON answer to a request for a stream to assemble is passed on byte for byte', async () => {
  const reply = `{ "id":1e2,"choices":[{"message":{"content":"\\u0061"}}],"x":12345678901234567890 }\n`;
  const { answer } = await ask(json(200, reply));
  expect(answer.text).toBe(reply);
});

async function askPair(script: Script, idleTimeoutMs = 5000) {
  const { gateway, a, b, clock } = await startStill(
    { a: script, b: answers('from b') },
    { HOSTED_A_TIMEOUT_MS: '8000', IDLE_TIMEOUT_MS: String(idleTimeoutMs) },
  );
  return { a, b, clock, gateway, pending: startChat(gateway.url) };
}

test.each<[name: string, script: Script]>([
  ['a cut in the text', cut(ROLE, A, A)],
  ['a cut inside an event', cut(A + STOP.slice(0, 50))],
  ['a clean end without finish reason', sse(A)],
  ['an error in the text', sse(A, event({ error: { message: 'no' } }), STOP, DONE)],
])('an assembled answer falls back at any point before its end: %s', async (_name, script) => {
  const { b, gateway, pending } = await askPair(script);
  const answer = await pending.answer;
  expect(answer).toMatchObject({ upstream: 'hosted_b', reason: 'hosted_a=bad_response' });
  expect(parsed(answer).choices[0].message).toMatchObject({ content: 'from b' });
  expect(b.calls).toHaveLength(1);
  expect(await counted(gateway, 'hosted_a')).toEqual({ fails: 1, successes: 0 });
  expect(inFlight(gateway)).toBe(0);
});

test('an assembled answer is whole at a stall after the finish reason', async () => {
  const { a, b, clock, gateway, pending } = await askPair(stall(A, STOP));
  await a.call(1);
  await turns(gateway);
  clock.advance(5000);
  expect(await pending.answer).toMatchObject({ upstream: 'hosted_a', reason: 'none' });
  expect(b.calls).toHaveLength(0);
});
