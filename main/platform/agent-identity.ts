import { createPublicKey, hash, sign, verify, type KeyObject } from 'node:crypto';

/**
 * Points of small order, with the sign bit cleared: for these, signatures can be made without any
 * private key (the list is libsodium's, `ge25519_has_small_order`).
 */
const SMALL_ORDER = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
]);

/** Parses the 32 raw bytes of a public ed25519 key in base64url; null if the text is malformed or the key is weak. */
export function parsePublicKey(text: string): KeyObject | null {
  if (!/^[\w-]{43}$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  // The last digit has two spare bits. Each key must have only one text, because its id is derived from it.
  if (bytes.length !== 32 || bytes.toString('base64url') !== text) return null;
  bytes.writeUInt8(bytes.readUInt8(31) & 0x7f, 31);
  if (SMALL_ORDER.has(bytes.toString('hex'))) return null;
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: text }, format: 'jwk' });
}

/** The public key of a private one, in base64url. */
export function publicKeyOf(privateKey: KeyObject): string {
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (x === undefined) throw new TypeError('an agent signs with an ed25519 key');
  return x;
}

/** The provider id of a public key in base64url. */
export function providerIdOf(publicKey: string): string {
  const digest = hash('sha256', Buffer.from(publicKey, 'base64url'), 'hex');
  return `prv_${digest.slice(0, 32)}`;
}

const healthText = (nonce: string, id: string) => Buffer.from(`inglenook-health ${nonce} ${id}`);

/** Agents sign no other text that a stranger sends. */
const NONCE = /^[0-9a-f]{1,128}$/i;

/** The signature in an agent's `/health`, in base64; null if the nonce is not 1 to 128 hex digits. */
export function signHealth(privateKey: KeyObject, nonce: string, id: string): string | null {
  if (!NONCE.test(nonce)) return null;
  return sign(null, healthText(nonce, id), privateKey).toString('base64');
}

/** Whether a signature of `/health` over this nonce was made with the private key. */
export function verifyHealth(
  publicKey: KeyObject,
  { nonce, id, signature }: Readonly<Record<'nonce' | 'id' | 'signature', string>>,
): boolean {
  const bytes = parseSignature(signature);
  return bytes !== null && verify(null, healthText(nonce, id), publicKey, bytes);
}

/** The 64 bytes of a signature in base64; null for other texts. */
export function parseSignature(text: string): Buffer | null {
  if (!/^[A-Za-z0-9+/]{86}==$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}
