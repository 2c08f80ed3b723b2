import { expect, test } from 'vitest';
import { createSentBytes, MAX_SENT_BYTES } from '../../../../main/gateway/chat/resume/resume.ts';

test('the bytes that were sent are kept as they are and not copied', () => {
  const sent = createSentBytes();
  const parts = [Buffer.from('a'), Buffer.from('b')];
  for (const part of parts) sent.add(part);
  expect(sent.taken()?.[0]).toBe(parts[0]);
  expect(sent.taken()?.[1]).toBe(parts[1]);
});

test('a stream that has sent nothing has nothing kept', () => {
  expect(createSentBytes().taken()).toEqual([]);
});

test('sent bytes are all kept up to the limit and dropped for good past it', () => {
  const sent = createSentBytes(4);
  sent.add(Buffer.from('abcd'));
  expect(sent.taken()).toHaveLength(1);
  sent.add(Buffer.from('e'));
  expect(sent.taken()).toBeNull();
  sent.add(Buffer.from(''));
  expect(sent.taken()).toBeNull();
});

test('the limit of kept bytes is 1 MiB', () => {
  const sent = createSentBytes();
  sent.add(Buffer.alloc(MAX_SENT_BYTES));
  expect(sent.taken()).toHaveLength(1);
  expect(MAX_SENT_BYTES).toBe(1024 * 1024);
  sent.add(Buffer.alloc(1));
  expect(sent.taken()).toBeNull();
});

test('a stream of more pieces than tokens can be is not kept, however short the pieces are', () => {
  const sent = createSentBytes();
  for (let piece = 0; piece < 16_384; piece += 1) sent.add(Buffer.of(0x0a));
  expect(sent.taken()).toHaveLength(16_384);
  sent.add(Buffer.of(0x0a));
  expect(sent.taken()).toBeNull();
});
