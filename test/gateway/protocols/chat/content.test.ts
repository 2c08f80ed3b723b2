import { expect, test } from 'vitest';
import { substanceOf } from '../../../../main/gateway/protocols/chat/content.ts';

const delta = (fields: unknown) => ({ choices: [{ index: 0, delta: fields }] });
const message = (fields: unknown) => ({ choices: [{ index: 0, message: fields }] });

test.each<[value: unknown, kind: string]>([
  [delta({ content: ' ' }), 'content'],
  [delta({ content: null }), 'nothing'],
  [delta({ refusal: 'no' }), 'content'],
  [delta({ function_call: { name: 'f' } }), 'content'],
  [{ base_resp: { status_code: 0 }, ...delta({ content: 'a' }) }, 'content'],
  [[{ error: { message: 'x' } }], 'error'],
  [message({ role: 'assistant', audio: { id: 'a' } }), 'content'],
  [{ choices: [null, 1, 'a'] }, 'nothing'],
  [{ choices: {} }, 'nothing'],
  [{ usage: { total_tokens: 3 } }, 'nothing'],
  [{ error: { code: 500 } }, 'error'],
  [{ error: null, ...delta({ content: 'a' }) }, 'content'],
  [{ error: false, ...delta({ content: 'a' }) }, 'content'],
  [[], 'error'],
  ['a', 'error'],
  [null, 'error'],
])('the chunk %j counts as %s', (value, kind) => {
  expect(substanceOf(value).kind).toBe(kind);
});
