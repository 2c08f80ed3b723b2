import { expect, test } from 'vitest';
import { startCall } from '../support/client.ts';
import {
  askedOf,
  goesOn,
  startListed,
  TEXT,
  told as toldInChat,
  WORDS,
} from '../support/handover.ts';
import { heardMessage } from '../support/heard-message.ts';
import { endedInError, typed } from '../support/protocols.ts';
import { inFlight } from '../support/report.ts';
import { cut, sse, type Script } from '../support/upstream.ts';

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

/** The first events of the answer as the upstream `id` streams it, with so many words. */
const begun = (id: string, words: number) => [
  start(id),
  opened(0, TEXT_BLOCK),
  typed('ping'),
  ...WORDS.slice(0, words).map((word) => said(0, word)),
];

const ONE_WHOLE = {
  starts: 1,
  stops: 1,
  blocks: [{ type: 'text', text: TEXT }],
  reasons: ['end_turn'],
};

const startWith = (first: Script | undefined, second: Script, owner: string, settings = {}) =>
  startListed([first, second], { same: owner }, settings);

/** How a stream breaks off after `sent`. */
const BREAKS: readonly [name: string, (sent: readonly string[]) => Script][] = [
  ['a cut', (sent) => cut(...sent)],
  ['a clean end', (sent) => sse(...sent)],
  ['a clean end inside an event', (sent) => sse(...sent, said(0, 'x').slice(0, 40))],
  ['a clean end before the data of an event', (sent) => sse(...sent, 'event: x\ndata: ')],
  ['an error event', (sent) => sse(...sent, typed('error', { error: { type: 'api_error' } }))],
];

test.each(BREAKS)(
  '%s after any word of a message stays hidden, because llama.cpp continues it as a chat completion',
  async (_name, breaking) => {
    const { a, b, gateway } = await startWith(undefined, goesOn('b'), 'llamacpp');
    for (let words = 1; words <= WORDS.length; words += 1) {
      a.script = breaking(begun('a', words));
      const { text, upstream } = await ask(gateway.url);
      expect(upstream).toBe('hosted_a');
      expect(heardMessage(text)).toMatchObject(ONE_WHOLE);
      expect(text.match(/^: .*$/gm)).toEqual([': carried on by hosted_b']);
      expect(text).not.toMatch(/^data: *$/m);
      const { path, json: body } = await b.call(words);
      expect([path, body['max_tokens']]).toEqual(['/chat/completions', 50 - words]);
      const begunSoFar = { role: 'assistant', content: WORDS.slice(0, words).join('').trimEnd() };
      expect(body['messages']).toEqual([...ASKED.messages, begunSoFar]);
    }
    expect(inFlight(gateway)).toBe(0);
  },
);

test.each(['vllm', 'sglang'])(
  'a message is continued by %s as a chat completion, as its Messages API would begin it again',
  async (owner) => {
    const { b, gateway } = await startWith(cut(...begun('a', 3)), goesOn('b'), owner);
    expect(heardMessage((await ask(gateway.url)).text)).toMatchObject(ONE_WHOLE);
    const call = await b.call(1);
    expect([call.path, askedOf(call)]).toEqual(['/chat/completions', 'The quick brown']);
    expect(call.json).toMatchObject({ continue_final_message: true, max_tokens: 47 });
  },
);

const thought = [
  start('a'),
  opened(0, { type: 'thinking', thinking: '' }),
  grown(0, { type: 'thinking_delta', thinking: 'a fox' }),
];
const signed = [grown(0, { type: 'signature_delta', signature: 's' }), closed(0)];
const begunText = [opened(1, TEXT_BLOCK), ...WORDS.slice(0, 2).map((word) => said(1, word))];
const whole = (signature: string) => ({
  ...ONE_WHOLE,
  blocks: [
    { type: 'thinking', thinking: 'a fox', signature },
    { type: 'text', text: TEXT },
  ],
});

test.each([
  ['that has its end', [...thought, ...signed, ...begunText], whole('s')],
  // llama.cpp ends all blocks at the end.
  ['that has none yet', [...thought, ...begunText], whole('unsigned')],
])(
  'reasoning before the text %s is sent along, and the block of the text continues',
  async (_name, first, expected) => {
    const { b, gateway } = await startWith(cut(...first), goesOn('b'), 'llamacpp');
    expect(heardMessage((await ask(gateway.url)).text)).toMatchObject(expected);
    const sent = { content: 'The quick', reasoning_content: 'a fox' };
    expect((await b.call(1)).json).toMatchObject({ messages: [{}, sent] });
  },
);

test('the usage of a continued message is what the continuation read and wrote, with what was sent before', async () => {
  const usage = { prompt_tokens: 12, completion_tokens: 6, total_tokens: 18 };
  const second = [
    ...toldInChat('b', ['fox.']).slice(0, -1),
    `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
    'data: [DONE]\n\n',
  ];
  const { gateway } = await startWith(cut(...begun('a', 3)), sse(...second), 'llamacpp');
  // Three events were sent: they were part of the prompt, and are part of the answer.
  expect(heardMessage((await ask(gateway.url)).text).usage).toMatchObject({
    input_tokens: 9,
    output_tokens: 9,
  });
});

const CITED = grown(0, { type: 'citations_delta', citation: {} });

test.each([
  ['a block of its provider’s own', [opened(0, { type: 'server_tool_use', id: 's' })]],
  ['a citation', [opened(0, TEXT_BLOCK), said(0, 'x'), CITED]],
])('a message with %s is not continued', async (_what, events) => {
  const first = [start('a'), ...events];
  const { b, gateway } = await startWith(cut(...first), goesOn('b'), 'llamacpp');
  expect(endedInError((await ask(gateway.url)).text).before).toBe(first.join(''));
  expect(b.calls).toHaveLength(0);
});
