import { describe, expect, test } from 'vitest';
import { startCall } from '../support/client.ts';
import { startHandover, TEXT, told as toldInChat, WORDS } from '../support/handover.ts';
import { heardMessage } from '../support/heard-message.ts';
import { endedInError, typed } from '../support/protocols.ts';
import { inFlight } from '../support/report.ts';
import {
  cut,
  error,
  json,
  sse,
  stall,
  type Script,
  type Upstream,
  type UpstreamCall,
  type UpstreamGet,
} from '../support/upstream.ts';

// Messages of upstreams that speak the Messages API themselves.

const ASKED = { max_tokens: 50, messages: [{ role: 'user', content: 'hi' }], stream: true };

const ask = (url: string, more: object = {}) =>
  startCall(`${url}/v1/messages`, { ...ASKED, ...more }).answer;

const start = (id: string, usage: object = { input_tokens: 9, output_tokens: 0 }) =>
  typed('message_start', { message: { id, type: 'message', role: 'assistant', model: id, usage } });
const opened = (index: number, block: object) =>
  typed('content_block_start', { index, content_block: block });
const TEXT_BLOCK = { type: 'text', text: '' };
const grown = (index: number, delta: object) => typed('content_block_delta', { index, delta });
const said = (index: number, text: string) => grown(index, { type: 'text_delta', text });
const closed = (index: number) => typed('content_block_stop', { index });
const ends = (reason = 'end_turn', output = 5) => [
  typed('message_delta', {
    delta: { stop_reason: reason, stop_sequence: null },
    usage: { output_tokens: output },
  }),
  typed('message_stop'),
];

/** The answer as the upstream `id` streams it. */
const told = (id: string, words: readonly string[] = WORDS) => [
  start(id),
  opened(0, TEXT_BLOCK),
  typed('ping'),
  ...words.map((word) => said(0, word)),
  closed(0),
  ...ends(),
];
/** The first events of it, with so many words. */
const begun = (id: string, words: number) => told(id).slice(0, 3 + words);

function lastOf({ json: { messages } }: UpstreamCall) {
  return (messages as { readonly role: string; readonly content: string }[]).at(-1);
}
const missing = (call: UpstreamCall) =>
  TEXT.slice(lastOf(call)?.content.length ?? 0).split(/(?<= )/);

const isChat = ({ path }: UpstreamCall) => path.endsWith('/chat/completions');

/** Goes on from what was begun, in the protocol that it is asked in. */
const goesOn: Script = (call) =>
  sse(...(isChat(call) ? toldInChat('b', missing(call)) : told('b', missing(call))))(call);

const ONE_WHOLE = {
  starts: 1,
  stops: 1,
  blocks: [{ type: 'text', text: TEXT }],
  reasons: ['end_turn'],
};

const AUTO = { HOSTED_A_PREFILL: 'auto', HOSTED_B_PREFILL: 'auto', HOSTED_C_BASE_URL: '' };

function lists(upstream: Upstream, owner: string): void {
  const answer = json(200, { object: 'list', data: [{ id: 'same', owned_by: owner }] });
  upstream.answerGet = ({ res }: UpstreamGet) => void answer({ res } as never);
}

/** The first breaks off; the second lists models of that owner. */
async function startWith(first: Script | undefined, second: Script, owner: string, settings = {}) {
  const handover = await startHandover([first, second], { ...AUTO, ...settings });
  lists(handover.b, owner);
  return handover;
}

/** How a stream breaks off after `sent`. */
const BREAKS: readonly [name: string, (sent: readonly string[]) => Script][] = [
  ['a cut', (sent) => cut(...sent)],
  ['a clean end', (sent) => sse(...sent)],
  ['a clean end inside an event', (sent) => sse(...sent, said(0, 'x').slice(0, 40))],
  ['a clean end before the data of an event', (sent) => sse(...sent, 'event: x\ndata: ')],
  ['an error event', (sent) => sse(...sent, typed('error', { error: { type: 'api_error' } }))],
];

test.each(BREAKS)(
  '%s after any word of a message is unseen, as llama.cpp continues the message',
  async (_name, breaking) => {
    const { a, b, gateway } = await startWith(undefined, goesOn, 'llamacpp');
    for (let words = 1; words <= WORDS.length; words += 1) {
      a.script = breaking(begun('a', words));
      const { text, upstream } = await ask(gateway.url);
      expect(upstream).toBe('hosted_a');
      expect(heardMessage(text)).toMatchObject(ONE_WHOLE);
      expect(text.match(/^: .*$/gm)).toEqual([': carried on by hosted_b']);
      expect(text).not.toMatch(/^data: *$/m);
      const { path, json: body } = await b.call(words);
      expect([path, body['max_tokens']]).toEqual(['/messages', 50 - words]);
      const begunSoFar = WORDS.slice(0, words).join('').trimEnd();
      expect(body['messages']).toEqual([
        ...ASKED.messages,
        { role: 'assistant', content: begunSoFar },
      ]);
    }
    expect(inFlight(gateway)).toBe(0);
  },
);

test('a message that falls silent is continued, and the silent upstream is aborted', async () => {
  const { a, clock, gateway } = await startWith(stall(...begun('a', 3)), goesOn, 'llamacpp');
  const pending = startCall(`${gateway.url}/v1/messages`, ASKED);
  await pending.received('brown');
  clock.advance(5000);
  expect(heardMessage((await pending.answer).text)).toMatchObject(ONE_WHOLE);
  await (
    await a.call(1)
  ).gone;
});

test.each(['vllm', 'sglang'])(
  'a message is continued by %s as a chat completion, as its Messages API would begin it again',
  async (owner) => {
    const { b, gateway } = await startWith(cut(...begun('a', 3)), goesOn, owner);
    expect(heardMessage((await ask(gateway.url)).text)).toMatchObject(ONE_WHOLE);
    const call = await b.call(1);
    expect([call.path, lastOf(call)?.content]).toEqual(['/chat/completions', 'The quick brown']);
    expect(call.json).toMatchObject({ continue_final_message: true, max_tokens: 47 });
  },
);

test('a message that no upstream is known to continue ends in the error event', async () => {
  const { b, gateway } = await startWith(cut(...begun('a', 3)), goesOn, 'somebody');
  const { before } = endedInError((await ask(gateway.url)).text);
  expect([before, b.calls.length]).toEqual([begun('a', 3).join(''), 0]);
});

const lacksMessages: Script = (call) =>
  isChat(call) ? goesOn(call) : error(404, 'Not Found')(call);
const refusesPrefill: Script = (call) =>
  isChat(call) ? goesOn(call) : error(400, 'Prefill is not supported')(call);

test.each([
  ['lacks the Messages API', lacksMessages],
  ['refuses a begun message', refusesPrefill],
])(
  'an upstream that %s is asked to continue a message as a chat completion',
  async (_why, second) => {
    const { b, gateway } = await startWith(cut(...begun('a', 3)), second, 'llamacpp');
    expect(heardMessage((await ask(gateway.url)).text)).toMatchObject(ONE_WHOLE);
    expect(b.calls.map(({ path }) => path)).toEqual(['/messages', '/chat/completions']);
    expect(b.calls.map((call) => lastOf(call)?.content)).toEqual([
      'The quick brown',
      'The quick brown',
    ]);
  },
);

test('a message that began as a chat completion is continued by an upstream that speaks only Messages', async () => {
  const chatOnly: Script = cut(...toldInChat('a').slice(0, 4));
  const settings = { HOSTED_A_PROTOCOLS: 'chat', HOSTED_B_PROTOCOLS: 'native' };
  const { b, gateway } = await startWith(chatOnly, goesOn, 'llamacpp', settings);
  const { text } = await ask(gateway.url);
  expect(heardMessage(text)).toMatchObject({ starts: 1, stops: 1, reasons: ['end_turn'] });
  expect(heardMessage(text).blocks).toMatchObject([{ type: 'text', text: TEXT }]);
  expect((await b.call(1)).path).toBe('/messages');
});

test('the caller’s own beginning of a message is continued, too', async () => {
  const { b, gateway } = await startWith(
    cut(...begun('a', 2)),
    sse(...told('b', ['fox.'])),
    'llamacpp',
  );
  const messages = [...ASKED.messages, { role: 'assistant', content: 'Well: ' }];
  await ask(gateway.url, { messages });
  expect((await b.call(1)).json['messages']).toEqual([
    ...ASKED.messages,
    { role: 'assistant', content: 'Well: The quick' },
  ]);
});

describe('reasoning before the text', () => {
  const thought = [
    start('a'),
    opened(0, { type: 'thinking', thinking: '' }),
    grown(0, { type: 'thinking_delta', thinking: 'a fox' }),
  ];
  const signed = [grown(0, { type: 'signature_delta', signature: 's' }), closed(0)];
  const text = [opened(1, TEXT_BLOCK), ...WORDS.slice(0, 2).map((word) => said(1, word))];
  const whole = (signature: string) => ({
    ...ONE_WHOLE,
    blocks: [
      { type: 'thinking', thinking: 'a fox', signature },
      { type: 'text', text: TEXT },
    ],
  });

  test.each([
    ['that has its end', [...thought, ...signed, ...text], whole('s')],
    // llama.cpp ends all blocks at the end.
    ['that has none yet', [...thought, ...text], whole('unsigned')],
  ])(
    'reasoning before the text %s is sent along, and the block of the text continues',
    async (_name, first, expected) => {
      const rest = WORDS.slice(2);
      const second = [start('b'), opened(1, TEXT_BLOCK), ...rest.map((word) => said(1, word))];
      const { b, gateway } = await startWith(
        cut(...first),
        sse(...second, closed(0), closed(1), ...ends()),
        'llamacpp',
      );
      expect(heardMessage((await ask(gateway.url)).text)).toMatchObject(expected);
      expect(lastOf(await b.call(1))?.content).toEqual([
        { type: 'thinking', thinking: 'a fox', signature: '' },
        { type: 'text', text: 'The quick' },
      ]);
    },
  );
});

test('a tool call after the cut is a block of its own', async () => {
  const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
  const second = [
    start('b'),
    opened(0, TEXT_BLOCK),
    said(0, 'fox.'),
    closed(0),
    opened(1, call),
    grown(1, { type: 'input_json_delta', partial_json: '{"at":' }),
    grown(1, { type: 'input_json_delta', partial_json: '"it"}' }),
    closed(1),
    ...ends('tool_use'),
  ];
  const { gateway } = await startWith(cut(...begun('a', 3)), sse(...second), 'llamacpp');
  expect(heardMessage((await ask(gateway.url)).text)).toMatchObject({
    blocks: [
      { type: 'text', text: 'The quick brown fox.' },
      { type: 'tool_use', id: 'toolu_1', name: 'look', json: '{"at":"it"}' },
    ],
    reasons: ['tool_use'],
  });
});

test('the usage of a continued message adds up, by the prompt tokens that its beginning reported', async () => {
  const first = [
    start('a', { input_tokens: 9, cache_read_input_tokens: 20, output_tokens: 1 }),
    ...begun('a', 3).slice(1),
  ];
  const second = [
    start('b', { input_tokens: 1, cache_read_input_tokens: 31, output_tokens: 0 }),
    opened(0, TEXT_BLOCK),
    said(0, 'fox.'),
    closed(0),
    ...ends('end_turn', 6),
  ];
  const { gateway } = await startWith(cut(...first), sse(...second), 'llamacpp');
  expect(heardMessage((await ask(gateway.url)).text).usage).toMatchObject({
    input_tokens: 9,
    cache_read_input_tokens: 20,
    output_tokens: 9,
  });
  // What each has really read and written; the first did not come to telling its output.
  const [row] = gateway.host.snapshot().requests;
  expect(row?.attempts.map(({ tokens }) => tokens)).toMatchObject([
    { input: 29, cached: 20, output: 6, estimated: true },
    { input: 32, cached: 31, output: 6, estimated: false },
  ]);
});

test.each([
  ['a block of its provider’s own', [opened(0, { type: 'server_tool_use', id: 's' })]],
  [
    'a citation',
    [opened(0, TEXT_BLOCK), said(0, 'x'), grown(0, { type: 'citations_delta', citation: {} })],
  ],
])('a message with %s is not continued', async (_what, events) => {
  const first = [start('a'), ...events];
  const { b, gateway } = await startWith(cut(...first), goesOn, 'llamacpp');
  expect(endedInError((await ask(gateway.url)).text).before).toBe(first.join(''));
  expect(b.calls).toHaveLength(0);
});

test('a message that must be JSON is not continued from its middle', async () => {
  const format = { type: 'json_schema', schema: {} };
  const { b, gateway } = await startWith(cut(...begun('a', 3)), goesOn, 'llamacpp');
  endedInError((await ask(gateway.url, { output_config: { format } })).text);
  expect(b.calls).toHaveLength(0);
});
