import { describe, expect, test } from 'vitest';
import { brokenOff } from '../support/broken-off.ts';
import { chatStream, startCall } from '../support/client.ts';
import { begun, startHandover, told } from '../support/handover.ts';
import { heardMessage } from '../support/heard-message.ts';
import { endedInError } from '../support/protocols.ts';
import { chunkOf, heard } from '../support/resume.ts';
import { cut, json, sse, type Script, type Upstream } from '../support/upstream.ts';

// Answers that break off in a thought or in a call of a tool.

const AUTO = { HOSTED_A_PREFILL: 'auto', HOSTED_B_PREFILL: 'auto', HOSTED_C_BASE_URL: '' };
const DONE = 'data: [DONE]\n\n';

function lists(upstream: Upstream, owner: string): void {
  const answer = json(200, { object: 'list', data: [{ id: 'same', owned_by: owner }] });
  upstream.answerGet = ({ res }) => void answer({ res } as never);
}

async function startWith(first: Script | undefined, second: Script, owner: string, settings = {}) {
  const handover = await startHandover([first, second], { ...AUTO, ...settings });
  lists(handover.b, owner);
  return handover;
}

const thinks = (id: string, ...pieces: readonly string[]) =>
  pieces.map((piece) => chunkOf(id, { reasoning_content: piece }));
const piece = (id: string, call: object, callId?: string) =>
  chunkOf(id, { tool_calls: [{ index: 0, id: callId, type: 'function', function: call }] });
/** Two words, and a call whose arguments come in pieces. */
const calls = (id: string, ...parts: readonly string[]) => [
  ...begun(id, 2),
  piece(id, { name: 'look', arguments: '' }, `call_${id}`),
  ...parts.map((part) => piece(id, { arguments: part })),
];
const CALLED = [
  ...calls('b', '{"place', '": "over', ' there"}'),
  chunkOf('b', {}, 'tool_calls'),
  DONE,
];

const ROLE = chunkOf('a', { role: 'assistant', content: null });

describe('a stream that breaks off in its reasoning', () => {
  const first = [ROLE, ...thinks('a', 'a fox', ', then')];
  const rest = [...thinks('b', ' a dog'), ...told('b').slice(1)];

  test('reasoning is continued by llama.cpp, which gets it as it was sent', async () => {
    const { b, gateway } = await startWith(cut(...first), sse(...rest), 'llamacpp');
    const { text } = await chatStream(gateway.url, { max_tokens: 50 });
    const { content } = heard(told('b').join(''));
    expect(heard(text)).toMatchObject({
      reasoning: 'a fox, then a dog',
      content,
      roles: 1,
      dones: 1,
      ids: new Set(['a']),
    });
    const { messages, max_tokens: limit } = (await b.call(1)).json;
    expect((messages as object[]).at(-1)).toEqual({
      role: 'assistant',
      content: '',
      reasoning_content: 'a fox, then',
    });
    // Two pieces, and the tag before them with its line break.
    expect(limit).toBe(46);
  });

  test('reasoning is not continued by other engines, which would begin it again', async () => {
    const { b, gateway } = await startWith(cut(...first), sse(...rest), 'vllm');
    const { text } = await chatStream(gateway.url);
    expect(brokenOff(text).before).toBe(first.join(''));
    expect(b.calls).toHaveLength(0);
  });

  test('reasoning is given again at temperature 0 by any upstream, and what was sent of it is dropped', async () => {
    const again = [...thinks('b', 'a fo', 'x, then a dog'), ...told('b').slice(1)];
    const { gateway } = await startWith(cut(...first), sse(...again), 'vllm');
    const { text } = await chatStream(gateway.url, { temperature: 0 });
    expect(heard(text)).toMatchObject({ reasoning: 'a fox, then a dog', dones: 1 });
  });
});

describe('a stream that breaks off in a tool call', () => {
  test('a tool call that was begun is not continued, and no upstream is asked', async () => {
    const first = calls('a', '{"place');
    const { b, gateway } = await startWith(cut(...first), sse(...CALLED), 'llamacpp');
    const { text } = await chatStream(gateway.url);
    expect(brokenOff(text).before).toBe(first.join(''));
    expect(b.calls).toHaveLength(0);
  });

  test('a tool call is given again at temperature 0, and goes on under the id that was sent', async () => {
    const { a, b, gateway } = await startWith(undefined, sse(...CALLED), 'somebody');
    for (const sent of [[], ['{'], ['{"place', '": "o'], ['{"place": "over there"}']]) {
      a.script = cut(...calls('a', ...sent));
      b.script = sse(...CALLED);
      const { text } = await chatStream(gateway.url, { temperature: 0 });
      const { content, finishes, dones } = heard(text);
      expect([content, finishes, dones]).toEqual(['The quick ', ['tool_calls'], 1]);
      const pieces = [...text.matchAll(/"arguments":("(?:[^"\\]|\\.)*")/g)];
      const all = pieces.map(([, part]) => JSON.parse(part ?? '""') as string).join('');
      expect([all, text.match(/call_\w/g)]).toEqual(['{"place": "over there"}', ['call_a']]);
    }
  });

  test('a tool call that differs at temperature 0 ends in the error event', async () => {
    const first = calls('a', '{"thing');
    const { gateway } = await startWith(cut(...first), sse(...CALLED), 'somebody');
    const { text } = await chatStream(gateway.url, { temperature: 0 });
    expect(brokenOff(text).before).toBe(`${first.join('')}: carried on by hosted_b\n\n`);
  });

  test('a tool call in a message or a response that is given again is one call there, too', async () => {
    const set = { HOSTED_A_PROTOCOLS: 'chat', HOSTED_B_PROTOCOLS: 'chat' };
    const { a, b, gateway } = await startWith(undefined, sse(...CALLED), 'somebody', set);
    const ask = async (path: string, body: object) => {
      a.script = cut(...calls('a', '{"place', '": "o'));
      b.script = sse(...CALLED);
      const more = { temperature: 0, stream: true };
      return (await startCall(gateway.url + path, { ...body, ...more }).answer).text;
    };
    const asked = { max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] };
    expect(heardMessage(await ask('/v1/messages', asked))).toMatchObject({
      blocks: [
        { type: 'text', text: 'The quick ' },
        { type: 'tool_use', id: 'call_a', name: 'look', json: '{"place": "over there"}' },
      ],
      reasons: ['tool_use'],
      stops: 1,
    });
    const response = await ask('/v1/responses', { input: 'hi' });
    expect(response.match(/event: response\.completed/g)).toHaveLength(1);
    expect(response).toContain('"arguments":"{\\"place\\": \\"over there\\"}"');
  });

  test('a tool call in a message that ends as a chat completion keeps its block', async () => {
    const typed = (type: string, more: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
    const first = [
      typed('message_start', { message: { id: 'a', role: 'assistant', usage: {} } }),
      typed('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      typed('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'The quick ' } }),
      typed('content_block_start', {
        index: 1,
        content_block: { type: 'tool_use', id: 'toolu_a', name: 'look', input: {} },
      }),
      typed('content_block_delta', {
        index: 1,
        delta: { type: 'input_json_delta', partial_json: '{"place": ' },
      }),
    ];
    const set = { HOSTED_B_PROTOCOLS: 'chat' };
    const { gateway } = await startWith(cut(...first), sse(...CALLED), 'somebody', set);
    const body = { max_tokens: 50, messages: [{ role: 'user', content: 'hi' }], stream: true };
    const ask = (more: object) =>
      startCall(`${gateway.url}/v1/messages`, { ...body, ...more }).answer;
    expect(heardMessage((await ask({ temperature: 0 })).text)).toMatchObject({
      blocks: [
        { type: 'text', text: 'The quick ' },
        { type: 'tool_use', id: 'toolu_a', json: '{"place": "over there"}' },
      ],
      reasons: ['tool_use'],
    });
    endedInError((await ask({})).text);
  });
});
