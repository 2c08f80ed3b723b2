import { expect, test } from 'vitest';
import { isExhausted, localNetworkHint } from '../../main/platform/errors.ts';

const error = (code: string, syscall: string) => Object.assign(new Error(code), { code, syscall });

test.each([
  ['a socket without a descriptor means', error('EMFILE', 'connect'), true],
  ['a machine without a descriptor means', error('ENFILE', 'open'), true],
  // Where names come from mDNS too.
  ['a busy lookup means', error('EBUSY', 'getaddrinfo'), true],
  ['a busy file does not mean', error('EBUSY', 'rename'), false],
  ['a name that is not there does not mean', error('ENOTFOUND', 'getaddrinfo'), false],
  ['a thrown text does not mean', 'EMFILE', false],
])('%s that descriptors are exhausted', (_what, thrown, expected) => {
  expect(isExhausted(thrown)).toBe(expected);
});

test.each([
  ['darwin', /^; if others reach it, allow Inglenook in System Settings > .* > Local Network$/],
  ['linux', /^$/],
  ['win32', /^$/],
] as const)('what is added to EHOSTUNREACH names the setting of macOS on %s', (platform, hint) => {
  expect(localNetworkHint(platform)).toMatch(hint);
});
