import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { createItemMemory } from '../../../../main/gateway/protocols/responses/history.ts';
import { MESSAGES_TRANSLATION } from '../../../../main/gateway/protocols/messages/endpoint.ts';
import { RESPONSES_TRANSLATION } from '../../../../main/gateway/protocols/responses/endpoint.ts';
import { createTextBuilder } from '../../../../main/gateway/protocols/translation/partial-calls.ts';

const EXCHANGE = { request: {}, id: 'x', createdAt: 1_700_000_000, model: 'asked', items: null };

const chunk = (delta: object) => ({ choices: [{ index: 0, delta }] });

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
