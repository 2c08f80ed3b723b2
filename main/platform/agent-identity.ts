import { createPublicKey, hash, sign, verify, type KeyObject } from 'node:crypto';

/** The 32 raw bytes of an ed25519 public key in base64url, and the key itself. */
export interface PublicKey {
  readonly text: string;
  readonly key: KeyObject;
}

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

/** Reads a public key as it travels; null when the text is not one that can be trusted to sign. */
export function parsePublicKey(text: string): PublicKey | null {
  if (!/^[\w-]{43}$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  // The last digit holds two bits too many: one key must have one text, for it has one id.
  if (bytes.length !== 32 || bytes.toString('base64url') !== text) return null;
  bytes.writeUInt8(bytes.readUInt8(31) & 0x7f, 31);
  if (SMALL_ORDER.has(bytes.toString('hex'))) return null;
  return {
    text,
    key: createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: text }, format: 'jwk' }),
  };
}

/** The public half of an agent's private key, as it travels. */
export function publicKeyOf(privateKey: KeyObject): string {
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (x === undefined) throw new TypeError('an agent signs with an ed25519 key');
  return x;
}

/** The id of the provider that holds a key. */
export function providerIdOf(publicKey: string): string {
  const digest = hash('sha256', Buffer.from(publicKey, 'base64url'), 'hex');
  return `prv_${digest.slice(0, 32)}`;
}

/** Whether a text has the form of a provider id. */
export function isProviderId(text: string): boolean {
  return /^prv_[0-9a-f]{32}$/.test(text);
}

const healthText = (nonce: string, id: string) => Buffer.from(`switchyard-health ${nonce} ${id}`);

/** What a nonce may look like: an agent signs nothing else that a stranger hands it. */
const NONCE = /^[0-9a-f]{1,128}$/i;

/** The proof in an agent's `/health`, in base64; null when the nonce is not 1 to 128 hex digits. */
export function signHealth(privateKey: KeyObject, nonce: string, id: string): string | null {
  if (!NONCE.test(nonce)) return null;
  return sign(null, healthText(nonce, id), privateKey).toString('base64');
}

/** Whether the holder of a key has signed a nonce for `/health`. */
export function verifyHealth(
  publicKey: KeyObject,
  { nonce, id, signature }: Readonly<Record<'nonce' | 'id' | 'signature', string>>,
): boolean {
  const bytes = parseSignature(signature);
  return bytes !== null && verify(null, healthText(nonce, id), publicKey, bytes);
}

/** The 64 bytes of a signature in base64; null for any other text. */
export function parseSignature(text: string): Buffer | null {
  if (!/^[A-Za-z0-9+/]{86}==$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}
