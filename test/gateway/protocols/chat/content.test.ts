import { expect, test } from 'vitest';
import { substanceOf } from '../../../../main/gateway/protocols/chat/content.ts';

const delta = (fields: unknown, more = {}) => ({ choices: [{ index: 0, delta: fields, ...more }] });
const message = (fields: unknown) => ({ choices: [{ index: 0, message: fields }] });

test.each<[value: unknown, kind: string]>([
  [delta({ content: 'a' }), 'content'],
  [delta({ content: ' ' }), 'content'],
  [delta({ content: '' }), 'nothing'],
  [delta({ content: null }), 'nothing'],
  [delta({ role: 'assistant' }), 'nothing'],
  [delta({}, { finish_reason: 'stop' }), 'nothing'],
  [delta({ reasoning_content: 'a' }), 'content'],
  [delta({ reasoning: 'a' }), 'content'],
  [delta({ refusal: 'no' }), 'content'],
  [delta({ tool_calls: [{ index: 0 }] }), 'content'],
  [delta({ tool_calls: [] }), 'nothing'],
  [delta({ function_call: { name: 'f' } }), 'content'],
  [delta({ content: [{ type: 'text', text: 'a' }] }), 'content'],
  [delta({ content: 'a' }, { finish_reason: 'error' }), 'error'],
  [delta({ content: 1 }), 'content'],
  [delta({ tool_calls: { function: { name: 'f' } } }), 'content'],
  [{ object: 'error', message: 'x' }, 'error'],
  [{ base_resp: { status_code: 1008 } }, 'error'],
  [{ base_resp: { status_code: 0 }, ...delta({ content: 'a' }) }, 'content'],
  [{ result: null, success: false, errors: [{ message: 'x' }] }, 'error'],
  [[{ error: { message: 'x' } }], 'error'],
  [message({ role: 'assistant', content: 'a' }), 'content'],
  [message({ role: 'assistant', content: null, tool_calls: [{ id: 'x' }] }), 'content'],
  [message({ role: 'assistant', audio: { id: 'a' } }), 'content'],
  [message({ role: 'assistant', content: '' }), 'nothing'],
  [{ choices: [] }, 'nothing'],
  [{ choices: [null, 1, 'a'] }, 'nothing'],
  [{ choices: {} }, 'nothing'],
  [{ usage: { total_tokens: 3 } }, 'nothing'],
  [{ error: { message: 'x' } }, 'error'],
  [{ error: 'x' }, 'error'],
  [{ error: { code: 500 } }, 'error'],
  [{ error: null, ...delta({ content: 'a' }) }, 'content'],
  [{ error: false, ...delta({ content: 'a' }) }, 'content'],
  [[], 'error'],
  ['a', 'error'],
  [null, 'error'],
])('the chunk %j counts as %s', (value, kind) => {
  expect(substanceOf(value).kind).toBe(kind);
});
