import { expect, test } from 'vitest';
import { createSecretBox, newBoxKey } from '../../main/platform/secrets.ts';

const box = createSecretBox(newBoxKey());

test('a secret box opens what it has sealed, for the same setting alone', () => {
  const sealed = box.seal('a.key', 'ключ 🔑');
  expect(sealed).not.toContain('ключ');
  expect(box.open('a.key', sealed)).toBe('ключ 🔑');
  expect(box.open('b.key', sealed)).toBeNull();
  expect(box.seal('a.key', 'ключ 🔑')).not.toBe(sealed);
});

test('a secret box opens nothing that was changed, cut, or sealed with another key', () => {
  const sealed = box.seal('a.key', 'secret');
  const bytes = Buffer.from(sealed, 'base64');
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  for (const text of [bytes.toString('base64'), sealed.slice(0, 20), '', 'no base64 at all'])
    expect(box.open('a.key', text)).toBeNull();
  expect(createSecretBox(newBoxKey()).open('a.key', sealed)).toBeNull();
});
