import { expect, test } from 'vitest';
import {
  ChunkRepair,
  repairedAnswer,
  substanceOf,
} from '../../../../main/gateway/protocols/chat/chunks.ts';

const chunk = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] });

test.each<[value: unknown, kind: string]>([
  [chunk({ content: ' ' }), 'content'],
  [chunk({ content: null }), 'nothing'],
  [chunk({ refusal: 'no' }), 'content'],
  [chunk({ function_call: { name: 'f' } }), 'content'],
  [{ base_resp: { status_code: 0 }, ...chunk({ content: 'a' }) }, 'content'],
  [[{ error: { message: 'x' } }], 'error'],
  [{ choices: [{ index: 0, message: { role: 'assistant', audio: { id: 'a' } } }] }, 'content'],
  [{ choices: [null, 1, 'a'] }, 'nothing'],
  [{ choices: {} }, 'nothing'],
  [{ usage: { total_tokens: 3 } }, 'nothing'],
  [{ error: { code: 500 } }, 'error'],
  [{ error: null, ...chunk({ content: 'a' }) }, 'content'],
  [{ error: false, ...chunk({ content: 'a' }) }, 'content'],
  [[], 'error'],
  ['a', 'error'],
  [null, 'error'],
])('the chunk %j counts as %s', (value, kind) => {
  expect(substanceOf(value).kind).toBe(kind);
});

const fn = (name: string, args: unknown = '{}') => ({ name, arguments: args });
const answer = (message: object, finish_reason: unknown = 'stop') => ({
  choices: [{ index: 0, message, finish_reason }],
});

test.each([
  ['a text', answer({ role: 'assistant', content: 'a', tool_calls: null })],
  [
    'calls',
    answer({ tool_calls: [{ id: 'a', type: 'function', function: fn('f') }] }, 'tool_calls'),
  ],
  ['no choices', { choices: [], usage: {} }],
  ['choices of another kind', { choices: 'x' }],
])('a whole answer that follows the format is not repaired: %s', (_, right) => {
  expect(repairedAnswer(right)).toBe(right);
});

test('two calls of a whole answer stay two where they share an id and say the same', () => {
  const call = { id: 'a', type: 'function', function: fn('f') };
  const right = repairedAnswer(answer({ tool_calls: [call, call] }, 'tool_calls'));
  const id = expect.stringMatching(/^call_/);
  expect(right).toEqual(answer({ tool_calls: [call, { ...call, id }] }, 'tool_calls'));
});

const calls = (...tool_calls: object[]) => chunk({ tool_calls });

/** Each chunk as the caller gets it; null for one that is dropped. */
function repaired(...chunks: readonly object[]): unknown[] {
  const repair = new ChunkRepair();
  return chunks.map((each) => repair.take(each as Record<string, unknown>));
}

test('chunks that follow the format are not repaired', () => {
  const repair = new ChunkRepair();
  const right = [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'a' }, { finish_reason: null }),
    calls({ index: 0, id: 'a', type: 'function', function: fn('f', '') }),
    calls({ index: 0, function: { arguments: '{}' } }),
    calls({ index: 1, id: 'b', type: 'function', function: fn('g', '{}') }),
    chunk({}, { finish_reason: 'tool_calls' }),
    { choices: [], usage: {} },
  ];
  for (const each of right) expect(repair.take(each)).toBe(each);
  expect(repair.finished).toBe(1);
});

test('arguments of two tool calls that nothing tells apart break the answer off', () => {
  const told = repaired(
    calls({ index: 0, id: 'a', function: fn('f', '{"x":1}') }),
    calls({ index: 0, function: { arguments: '{"y":2}' } }),
  );
  expect(told[1]).toBe('tool calls that cannot be told apart');
});

test('a repeated tool call is dropped, unless it is too long to be kept and compared', () => {
  const twice = (chars: number) => {
    const call = { index: 0, id: 'a', function: fn('f', `{"x":"${'y'.repeat(chars)}"}`) };
    return JSON.stringify(repaired(calls(call), calls(call))[1]);
  };
  expect(twice(200_000)).not.toContain('tool_calls');
  expect(twice(300_000)).toContain('"tool_calls":[{"index":1,');
});

test.each([
  ['none', {}],
  ['null', { delta: null }],
])('what calls lack is found at the end if the last delta is %s', (_, last) => {
  const end = { choices: [{ index: 0, ...last, finish_reason: 'tool_calls' }] };
  const call = { index: 0, id: 'a', type: 'function' };
  expect(repaired(calls({ ...call, function: fn('f', '') }), end)[1]).toMatchObject(
    calls({ index: 0, function: { arguments: '{}' } }),
  );
  expect(repaired(calls({ ...call, function: {} }), end)[1]).toBe('a tool call without a name');
  expect(repaired(calls({ ...call, function: fn('f') }), end)[1]).toBe(end);
});
