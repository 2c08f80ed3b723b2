import { expect, test } from 'vitest';
import { isExhausted } from '../../main/platform/errors.ts';

const error = (code: string, syscall: string) => Object.assign(new Error(code), { code, syscall });

test.each([
  ['a socket without a descriptor', error('EMFILE', 'connect'), true],
  ['a machine without a descriptor', error('ENFILE', 'open'), true],
  ['a lookup without one, where names come from mDNS too', error('EBUSY', 'getaddrinfo'), true],
  ['a busy file', error('EBUSY', 'rename'), false],
  ['a name that is not there', error('ENOTFOUND', 'getaddrinfo'), false],
  ['what is no error', 'EMFILE', false],
])('%s', (_what, thrown, expected) => {
  expect(isExhausted(thrown)).toBe(expected);
});
