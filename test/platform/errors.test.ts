import { expect, test } from 'vitest';
import { isExhausted, localNetworkHint } from '../../main/platform/errors.ts';

const error = (code: string, syscall: string) => Object.assign(new Error(code), { code, syscall });

test.each([
  [
    'a socket without a descriptor means that descriptors are exhausted',
    error('EMFILE', 'connect'),
    true,
  ],
  [
    'a machine without a descriptor means that descriptors are exhausted',
    error('ENFILE', 'open'),
    true,
  ],
  [
    'a busy lookup means that descriptors are exhausted, where names come from mDNS too',
    error('EBUSY', 'getaddrinfo'),
    true,
  ],
  ['a busy file does not mean that descriptors are exhausted', error('EBUSY', 'rename'), false],
  [
    'a name that is not there does not mean that descriptors are exhausted',
    error('ENOTFOUND', 'getaddrinfo'),
    false,
  ],
  ['a thrown text does not mean that descriptors are exhausted', 'EMFILE', false],
])('%s', (_what, thrown, expected) => {
  expect(isExhausted(thrown)).toBe(expected);
});

test.each([
  ['darwin', /^; if others reach it, allow Inglenook in System Settings > .* > Local Network$/],
  ['linux', /^$/],
  ['win32', /^$/],
] as const)('what is added to EHOSTUNREACH names the setting of macOS on %s', (platform, hint) => {
  expect(localNetworkHint(platform)).toMatch(hint);
});
