import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAnswerScan } from '../../../main/gateway/protocols/answer-scan.ts';
import { substanceOf } from '../../../main/gateway/protocols/chat/content.ts';
import { cut } from '../../support/pieces.ts';

function judged(text: string, places: readonly number[]) {
  const scan = createAnswerScan();
  for (const piece of cut(Buffer.from(text), places)) scan.push(piece);
  return scan.substance();
}

const scalar = fc.constantFrom<unknown>('', 'a', 'error', 'stop', null, 0, true, false);
const anything = fc.oneof(scalar, fc.constantFrom<unknown>([], {}, [[]], [{}], { a: 1 }, ['']));
const field = fc.constantFrom(
  'content',
  'reasoning',
  'reasoning_content',
  'refusal',
  'tool_calls',
  'function_call',
  'audio',
  'x',
);
const body = fc.oneof(fc.dictionary(field, anything, { maxKeys: 3 }), anything);
const choiceField = fc.constantFrom('delta', 'message', 'finish_reason', 'index');
const choice = fc.oneof(
  fc.dictionary(choiceField, fc.oneof(body, anything), { maxKeys: 4 }),
  fc.record({ message: body, finish_reason: scalar }),
  anything,
);
const choices = fc.oneof(fc.array(choice, { maxLength: 3 }), anything);
const answer = fc.oneof(
  fc.record({ choices }),
  fc.record({ error: anything, choices, usage: anything }),
  fc.dictionary(fc.constantFrom('choices', 'error', 'message', 'x'), fc.oneof(choices, body)),
  anything,
);
const places = fc.array(fc.nat(300), { maxLength: 6 });

test('a scanned answer is judged like a parsed one, wherever its bytes are cut', () => {
  fc.assert(
    fc.property(answer, fc.nat(2), places, (value, by, at) => {
      expect(judged(JSON.stringify(value, null, by), at)).toBe(substanceOf(value).kind);
    }),
    { numRuns: 400 },
  );
});

test.each([
  ['{"choices":[{"message":{"content":"a"}}]', null],
  ['{"choices":[{"message":{"content":"a"}}]}}', null],
  ['', null],
  ['{"choices":[{"message":{"content":"a","content":""}}]}', 'nothing'],
  ['{"choices":[{"message":{"content":"a"}}],"choices":[]}', 'nothing'],
  ['{"error":"x","error":null,"choices":[{"message":{"content":"a"}}]}', 'content'],
  ['{"choices":[{"message":{"content":""},"message":{"content":"a"}}]}', 'content'],
  ['{"ch\\u006fices":[{"mess\\u0061ge":{"content":"a"},"finish_reason":"\\u0065rror"}]}', 'error'],
  ['{"choices":[{"usage":{"content":"a"}}],"message":{"content":"a"}}', 'nothing'],
])('the answer %s is judged as %s', (text, kind) => {
  expect(judged(text, [])).toBe(kind);
});

test('bytes that follow an answer that seemed whole are judged with it', () => {
  const whole = Buffer.from('{"choices":[{"message":{"content":"a"}}]}');
  const [blank, more] = [createAnswerScan(), createAnswerScan()];
  expect([blank.push(whole), blank.push(Buffer.from('\n'))]).toEqual([true, true]);
  expect(blank.substance()).toBe('content');
  expect([more.push(whole), more.push(Buffer.from('{'))]).toEqual([true, false]);
  expect(more.substance()).toBeNull();
});
