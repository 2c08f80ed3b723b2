import { expect, test } from 'vitest';
import { type Answer, chat, expectServed, HELLO, startChat } from '../support/client.ts';
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
const calls = (...told: readonly unknown[]) => ({ tool_calls: told });

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

const CALL = { id: 'x', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
const CALL_2 = { id: 'y', type: 'function', function: { name: 'g', arguments: '{}' } };
const piece = (index: number, args: string) => ({ index, function: { arguments: args } });
const begin = (index: number, call: typeof CALL) => ({
  index,
  ...call,
  function: { name: call.function.name, arguments: '' },
});

const ONE = calls(begin(0, CALL), piece(0, '{"a":1}'));
const INTERLEAVED = [
  calls(begin(0, CALL)),
  calls(begin(1, CALL_2)),
  calls(piece(0, '{"a":'), piece(1, '{')),
  calls(piece(1, '}'), piece(0, '1}')),
];
const OLD = [{ name: 'f', arguments: '' }, { arguments: '{}' }].map((function_call) => ({
  function_call,
}));

/** An event as it is sent, or the delta of a chunk. */
test.each<[name: string, events: readonly (string | Record<string, unknown>)[], message: object]>([
  ['reasoning', [{ reasoning: 'he' }, { reasoning: 'm' }, A], { content: 'a', reasoning: 'hem' }],
  ['role and content in one event', [{ role: 'assistant', content: 'a' }], { content: 'a' }],
  ['no role at all', [A, A], { content: 'aa' }],
  ['an empty content that stays text', [{ content: '' }, ONE], { content: '', tool_calls: [CALL] }],
  ['two tool calls, interleaved', INTERLEAVED, { tool_calls: [CALL, CALL_2] }],
  ['the old function_call', OLD, { function_call: { name: 'f', arguments: '{}' } }],
  ['a refusal', [{ refusal: 'n' }, { refusal: 'o' }], { refusal: 'no' }],
  ['unknown fields of the delta', [{ x: [1] }, { x: [2] }, A], { content: 'a', x: [1, 2] }],
  ['chunks without choices and comments', [': hi\n\n', event({ id: 'c1' }), A], { content: 'a' }],
  ['lines that end in CRLF', [A.replaceAll('\n', '\r\n')], { content: 'a' }],
])('the assembled message is whole with %s', async (_name, events, message) => {
  const told = events.map((each) => (typeof each === 'string' ? each : chunk(each)));
  const { answer } = await ask(sse(ROLE.replace('"content":""', '"x":null'), ...told, STOP, DONE));
  const whole = { role: 'assistant', content: null, ...message };
  expect(parsed(answer).choices[0].message).toEqual(whole);
});

test('an assembled answer is sent at [DONE], though the upstream keeps its connection open', async () => {
  const { answer } = await ask(stall(A, STOP, DONE));
  expect(parsed(answer).choices[0].message).toEqual({ role: 'assistant', content: 'a' });
});

const odd =
  '{ "messages" : [{"role":"user","content":"\\u0068i"}],\n "seed":12345678901234567890, "temperature":1.0';

const USAGE = '"stream_options":{"include_usage":true}';

test.each([
  ['no stream field', `${odd}}`, `${odd},"stream":true,${USAGE}}`],
  ['stream:false', `${odd}, "stream": false }`, `${odd}, "stream": true ,${USAGE}}`],
  ['stream:null', `${odd},"stream":null}`, `${odd},"stream":true,${USAGE}}`],
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

async function askPair(script: Script) {
  const { gateway, a, b, clock } = await startStill(
    { a: script, b: answers('from b') },
    { HOSTED_A_TIMEOUT_MS: '8000', IDLE_TIMEOUT_MS: '5000' },
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
  expectServed(answer, 'hosted_b', 'hosted_a=bad_response');
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
  expectServed(await pending.answer, 'hosted_a');
  expect(b.calls).toHaveLength(0);
});
