import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAnswerScan } from '../../../main/gateway/protocols/chat/endpoint.ts';
import { substanceOf } from '../../../main/gateway/protocols/chat/chunks.ts';
import { ByteBuffer } from '../../../main/platform/byte-buffer.ts';
import { cut } from '../../support/pieces.ts';

function judged(text: string, places: readonly number[]) {
  const scan = createAnswerScan();
  const body = new ByteBuffer();
  for (const piece of cut(Buffer.from(text), places)) {
    body.add(piece);
    scan.push(body);
  }
  return scan.substance(body.take());
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

const LONG = 'word '.repeat(20_000);

test.each([
  ['content', { choices: [{ message: { content: LONG } }] }],
  ['nothing', { choices: [], prompt: LONG }],
  ['error', { error: { message: LONG } }],
  ['error', [LONG]],
  ['error', { choices: [{ message: { content: LONG }, finish_reason: 'error' }] }],
  ['content', { choices: [{ message: { content: `${LONG}"finish_reason":"error"` } }] }],
])('an answer too long to be parsed is judged as %s by its members', (kind, value) => {
  const text = JSON.stringify(value);
  expect(judged(text, [])).toBe(kind);
  expect(judged(text, [10, 70_000])).toBe(kind);
  expect(judged(text.slice(0, -1), [70_000])).toBeNull();
});
