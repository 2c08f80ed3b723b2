import { expect, test } from 'vitest';
import { createSentBytes, MAX_SENT_BYTES } from '../../../main/gateway/resume/sent-bytes.ts';

test('what was sent is kept in its order, and what was taken stays as it is when more is sent', () => {
  const sent = createSentBytes();
  for (const part of ['a', 'b']) sent.add(Buffer.from(part));
  const before = sent.taken();
  sent.add(Buffer.alloc(100_000, 'c'));
  expect(Buffer.concat(before ?? []).toString()).toBe('ab');
  expect(Buffer.concat(sent.taken() ?? []).toString()).toBe(`ab${'c'.repeat(100_000)}`);
});

test('nothing sent is nothing kept', () => {
  expect(Buffer.concat(createSentBytes().taken() ?? [])).toHaveLength(0);
});

test('up to the limit all is kept, beyond it nothing, for good', () => {
  const sent = createSentBytes(4);
  sent.add(Buffer.from('abcd'));
  expect(sent.taken()).toHaveLength(1);
  sent.add(Buffer.from('e'));
  expect(sent.taken()).toBeNull();
  sent.add(Buffer.from(''));
  expect(sent.taken()).toBeNull();
});

test('the limit is 1 MiB', () => {
  const sent = createSentBytes();
  sent.add(Buffer.alloc(MAX_SENT_BYTES));
  expect(sent.taken()).toHaveLength(1);
  expect(MAX_SENT_BYTES).toBe(1024 * 1024);
  sent.add(Buffer.alloc(1));
  expect(sent.taken()).toBeNull();
});
