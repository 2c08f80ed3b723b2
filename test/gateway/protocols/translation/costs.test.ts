import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { createItemMemory } from '../../../../main/gateway/protocols/responses/item-memory.ts';
import { MESSAGES_TRANSLATION } from '../../../../main/gateway/protocols/messages/endpoint.ts';
import { RESPONSES_TRANSLATION } from '../../../../main/gateway/protocols/responses/endpoint.ts';
import { createTextBuilder } from '../../../../main/gateway/protocols/translation/text-builder.ts';
import { workMs } from '../../../support/at-once.ts';

const EXCHANGE = { request: {}, id: 'x', createdAt: 1_700_000_000, model: 'asked', items: null };

const chunk = (delta: object) => ({ choices: [{ index: 0, delta }] });
const piece = (index: number, name: string, json: string) =>
  chunk({ tool_calls: [{ index, id: `call_${index}`, function: { name, arguments: json } }] });

/** Bytes in use once everything that can go is gone. */
function bytesInUse(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe.each([
  ['Responses', RESPONSES_TRANSLATION],
  ['Messages', MESSAGES_TRANSLATION],
])('a stream of the %s API', (_name, protocol) => {
  const played = (chunks: number, chunkAt: (index: number) => object) => () => {
    const stream = protocol.createStream(EXCHANGE);
    for (let index = 0; index < chunks; index += 1) stream.push(chunkAt(index));
    return stream;
  };

  test.each<[what: string, chunks: number, chunkAt: (index: number) => object]>([
    ['text', 5000, () => chunk({ content: 'a' })],
    ['arguments of one call', 5000, (index) => piece(0, 'look', index === 0 ? '{"at":"' : 'a')],
    [
      'calls that never end',
      2000,
      (index) => piece(index, 'look', '{"at":"aaaaaaaaaaaaaaaaaaaaaaaa'),
    ],
    [
      'changes of kind',
      2000,
      (index) => chunk(index % 2 === 0 ? { content: 'a' } : { reasoning: 'b' }),
    ],
  ])('a translated stream costs twice as much for twice as much %s', (_what, chunks, chunkAt) => {
    const whole = (count: number) => () => void played(count, chunkAt)().end();
    whole(chunks)();
    const once = workMs(whole(chunks));
    expect(workMs(whole(2 * chunks))).toBeLessThan(3.5 * once);
  });

  test('a translated stream reads the arguments of an incomplete call once, however many calls follow', () => {
    const calls = (chars: number) => {
      const first = `{"at":"${'a'.repeat(chars)}`;
      return played(1000, (index) => piece(index, 'look', index === 0 ? first : '{'));
    };
    calls(10)();
    expect(workMs(calls(500_000))).toBeLessThan(workMs(calls(10)) + 100);
  });

  test('a translated stream holds a few bytes for each character, however it arrives', () => {
    const before = bytesInUse();
    const stream = played(150_000, () => chunk({ content: 'a' }))();
    expect(bytesInUse() - before).toBeLessThan(150_000 * 8);
    expect(stream.ended()).toBe('no');
  });

  test('a translated stream with more parts than any answer has ends as a failure', () => {
    const stream = played(20_002, (index) =>
      chunk(index % 2 === 0 ? { content: 'a' } : { reasoning: 'b' }),
    )();
    expect(stream.ended()).toBe('failed');
  });
});

test('a translated request costs twice as much for twice as many messages', () => {
  const input = (count: number) =>
    Array.from({ length: count }, (_, index) => [
      { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      { type: 'function_call', call_id: `c${index}`, name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: `c${index}`, output: 'seen' },
    ]).flat();
  const [one, two] = [input(2000), input(4000)];
  const once = workMs(() => void RESPONSES_TRANSLATION.toChat({ input: one }, null));
  expect(workMs(() => void RESPONSES_TRANSLATION.toChat({ input: two }, null))).toBeLessThan(
    3.5 * once,
  );
});

describe('kept items', () => {
  const item = (id: string, chars: number) => ({ id, text: 'a'.repeat(chars) });

  test('kept items are found unchanged until newer ones need their room', () => {
    const memory = createItemMemory(4000);
    memory.keep([item('a', 500), item('b', 500)]);
    expect(memory.find('a')).toEqual(item('a', 500));
    memory.keep([item('c', 500)]);
    expect(['a', 'b', 'c'].map((id) => memory.find(id) !== undefined)).toEqual([false, true, true]);
  });

  test('a kept item replaces one with the same id, and an item that is too large is not kept', () => {
    const memory = createItemMemory(4000);
    memory.keep([item('a', 500), item('a', 600), item('b', 500), item('c', 4000)]);
    expect([memory.find('a'), memory.find('b')]).toEqual([item('a', 600), item('b', 500)]);
    expect(memory.find('c')).toBeUndefined();
  });
});

test('a text that is cut inside a character is put together whole', () => {
  const builder = createTextBuilder();
  const text = '😀'.repeat(20_000);
  for (const unit of text.split('')) builder.add(unit);
  expect(builder.text() === text).toBe(true);
  expect(builder.length).toBe(text.length);
});
