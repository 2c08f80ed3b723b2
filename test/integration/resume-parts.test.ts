import { expect, test } from 'vitest';
import { endedInError } from '../support/protocols.ts';
import { chatStream } from '../support/client.ts';
import { begun, ONE_WHOLE, startListed, told } from '../support/handover.ts';
import { chunkOf, heard } from '../support/resume.ts';
import { cut, sse, type Script } from '../support/upstream.ts';

// Answers that break off in a thought or in a call of a tool.

const startWith = (first: Script, second: Script, owner: string) =>
  startListed([first, second], { same: owner });

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
  'data: [DONE]\n\n',
];

const ROLE = chunkOf('a', { role: 'assistant', content: null });

const thinking = [ROLE, ...thinks('a', 'a fox', ', then')];
const goesOn = [...thinks('b', ' a dog'), ...told('b').slice(1)];

test('reasoning is continued by llama.cpp, which gets it as it was sent', async () => {
  const { b, gateway } = await startWith(cut(...thinking), sse(...goesOn), 'llamacpp');
  const { text } = await chatStream(gateway.url, { max_tokens: 50 });
  expect(heard(text)).toMatchObject({ ...ONE_WHOLE, reasoning: 'a fox, then a dog' });
  const { messages, max_tokens: limit } = (await b.call(1)).json;
  const begunSoFar = { role: 'assistant', content: '', reasoning_content: 'a fox, then' };
  expect((messages as object[]).at(-1)).toEqual(begunSoFar);
  // Two pieces, and the tag before them with its line break.
  expect(limit).toBe(46);
});

test('reasoning is not continued by other engines, which would begin it again', async () => {
  const { b, gateway } = await startWith(cut(...thinking), sse(...goesOn), 'vllm');
  const { text } = await chatStream(gateway.url);
  expect(endedInError(text).before).toBe(thinking.join(''));
  expect(b.calls).toHaveLength(0);
});

test('a tool call that was begun is not continued, and no upstream is asked', async () => {
  const first = calls('a', '{"place');
  const { b, gateway } = await startWith(cut(...first), sse(...CALLED), 'llamacpp');
  const { text } = await chatStream(gateway.url);
  expect(endedInError(text).before).toBe(first.join(''));
  expect(b.calls).toHaveLength(0);
});
