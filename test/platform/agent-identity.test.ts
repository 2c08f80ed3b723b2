import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  parsePublicKey,
  providerIdOf,
  publicKeyOf,
  signHealth,
  verifyHealth,
} from '../../main/platform/agent-identity.ts';

/** RFC 9421, B.1.4. */
const RFC_KEY = createPrivateKey(`-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----`);
const RFC_PUBLIC = 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs';
const RFC_ID = 'prv_b16c2d1bead1262639764fdb0ee4d377';

const keyOf = (text: string) => parsePublicKey(text) ?? expect.unreachable();

test('the worked example of the agent protocol comes out right: public key, id and health proof', () => {
  expect(publicKeyOf(RFC_KEY)).toBe(RFC_PUBLIC);
  expect(providerIdOf(RFC_PUBLIC)).toBe(RFC_ID);
  expect(signHealth(RFC_KEY, '00ff', RFC_ID)).toBe(
    'BBSAOW8xjitaM9R39o/vB+AnDoX7jgUCHJTXkPiyjtF9/mcELvU0bw3uZMOFX7GvKOnUlhRCwVKLBVn5vCZtAA==',
  );
});

test('a health proof holds for its key, nonce and id, and for no other', () => {
  const key = keyOf(RFC_PUBLIC);
  const other = generateKeyPairSync('ed25519').publicKey;
  const signature = signHealth(RFC_KEY, '00ff', RFC_ID) ?? '';
  const proof = { nonce: '00ff', id: RFC_ID, signature };
  expect(verifyHealth(key, proof)).toBe(true);
  expect(verifyHealth(other, proof)).toBe(false);
  expect(verifyHealth(key, { ...proof, nonce: '00fe' })).toBe(false);
  expect(verifyHealth(key, { ...proof, id: `prv_${'0'.repeat(32)}` })).toBe(false);
  const unpadded = signature.replaceAll('=', '');
  for (const bad of ['', unpadded, signature.slice(4), `${signature} `, `A${signature.slice(1)}`])
    expect(verifyHealth(key, { ...proof, signature: bad })).toBe(false);
});

test.each(['', 'xyz', '00 ff', '"@method": POST', 'f'.repeat(129)])(
  'an agent signs no nonce such as %j: it must be hex digits',
  (nonce) => {
    expect(signHealth(RFC_KEY, nonce, RFC_ID)).toBeNull();
  },
);

test.each([
  ['nothing', ''],
  ['too short', RFC_PUBLIC.slice(1)],
  ['too long', `${RFC_PUBLIC}A`],
  ['padded', `${RFC_PUBLIC}=`],
  ['plain base64', RFC_PUBLIC.replaceAll('_', '/').replaceAll('-', '+')],
  ['another spelling of the same bytes', `${RFC_PUBLIC.slice(0, -1)}t`],
  ['with a line feed', `${RFC_PUBLIC.slice(0, -1)}\n`],
])('a public key that is %s is refused', (_, text) => {
  expect(parsePublicKey(text)).toBeNull();
});

const P_MINUS_1 = `ec${'ff'.repeat(30)}7f`;

test.each([
  ['zero', '00'.repeat(32)],
  ['one, the neutral element', `01${'00'.repeat(31)}`],
  ['one with the sign bit', `01${'00'.repeat(30)}80`],
  ['of order 8', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
  ['of order 2', P_MINUS_1],
  ['of order 2 with the sign bit', `${P_MINUS_1.slice(0, -2)}ff`],
])('a public key of small order (%s) is refused, since anyone can sign for it', (_, hex) => {
  expect(parsePublicKey(Buffer.from(hex, 'hex').toString('base64url'))).toBeNull();
});

test('a public key that is not a point on the curve verifies nothing', () => {
  const key = keyOf(Buffer.from(`02${'00'.repeat(31)}`, 'hex').toString('base64url'));
  const signature = Buffer.alloc(64).toString('base64');
  expect(verifyHealth(key, { nonce: '00', id: RFC_ID, signature })).toBe(false);
});
