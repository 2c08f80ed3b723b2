import { expect, test } from 'vitest';
import { ByteBuffer } from '../../main/platform/byte-buffer.ts';

const text = (bytes: Buffer) => bytes.toString('latin1');

test('a byte buffer gives all pieces as one, in order, whatever their sizes', () => {
  const buffer = new ByteBuffer();
  const pieces = ['a', '', 'bc', 'd'.repeat(5000), 'e', 'f'.repeat(70_000), 'g'];
  for (const piece of pieces) buffer.add(Buffer.from(piece));
  expect(buffer.length).toBe(pieces.join('').length);
  expect(text(buffer.copy())).toBe(pieces.join(''));
  expect(text(buffer.take())).toBe(pieces.join(''));
});

test('a byte buffer hands a single piece over uncopied', () => {
  const buffer = new ByteBuffer(100);
  const piece = Buffer.from('whole');
  buffer.add(piece);
  expect(buffer.take()).toBe(piece);
});

test('bytes taken from a byte buffer are no longer in it, and stay the same when more arrive', () => {
  const buffer = new ByteBuffer();
  for (const piece of ['a', 'b']) buffer.add(Buffer.from(piece));
  const taken = buffer.take();
  expect(buffer.length).toBe(0);
  for (let byte = 0; byte < 10_000; byte += 1) buffer.add(Buffer.from('x'));
  expect(text(taken)).toBe('ab');
  expect(text(buffer.take())).toBe('x'.repeat(10_000));
  expect(buffer.take()).toHaveLength(0);
});

test('small pieces in a byte buffer hold no more memory than twice their bytes', () => {
  const buffer = new ByteBuffer();
  const read = Buffer.alloc(64 * 1024, 'x');
  for (let byte = 0; byte < 1_000_000; byte += 1)
    buffer.add(read.subarray(byte % 100, (byte % 100) + 1));
  const taken = buffer.take();
  expect(taken).toHaveLength(1_000_000);
  expect(taken.buffer).not.toBe(read.buffer);
  expect(taken.buffer.byteLength).toBeLessThanOrEqual(2_000_000);
});

test('a byte buffer allocates an announced length as it arrives, and never more than it', () => {
  const buffer = new ByteBuffer(300_000);
  const piece = Buffer.alloc(100_000, 'x');
  buffer.add(Buffer.alloc(10, 'x'));
  buffer.add(Buffer.alloc(10, 'x'));
  expect(buffer.take().buffer.byteLength).toBeLessThan(10_000);
  for (let count = 0; count < 3; count += 1) buffer.add(piece);
  expect(buffer.take().buffer.byteLength).toBe(300_000);
});
