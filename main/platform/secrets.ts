import { hash, randomBytes, createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readTextFile, replaceFile } from './files.ts';
import { canonicalIp } from './network-guard.ts';

/** A new secret of 256 bits, as hex. */
export function newSecret(): string {
  return randomBytes(32).toString('hex');
}

/** Whether a text may come from `newSecret`; others need not be hashed. */
export function isSecretShaped(text: string): boolean {
  return text.length === 64;
}

/**
 * SHA-256 in hex, which is stored and looked up instead of a secret that only needs to be recognised: how long that takes
 * reveals nothing about the secret.
 */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** A shorter text in the file is no secret, and is replaced. */
const MIN_CHARS = 32;

/** The secret in the file at `path`, which is created with mode 0600 if there is none. */
export function storedSecret(path: string): string {
  const known = readSecret(path);
  if (known !== null) return known;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const secret = newSecret();
  replaceFile(path, `${secret}\n`);
  return secret;
}

/** Null if there is none yet. */
function readSecret(path: string): string | null {
  const secret = readTextFile(path)?.trim() ?? '';
  return secret.length >= MIN_CHARS ? secret : null;
}

const FILE = 'control-token';

/** The token that proves control of this installation; created at the first start. */
export function controlToken(directory: string): string {
  return storedSecret(join(directory, FILE));
}

/** Null if there is none yet. */
export function readControlToken(directory: string): string | null {
  return readSecret(join(directory, FILE));
}

/** Seals secrets for `secrets.json` with a key that is kept elsewhere, such as in the system's keychain. */
export type SecretBox = ReturnType<typeof createSecretBox>;

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A key for a new box. */
export const newBoxKey = (): Buffer => randomBytes(32);

/** `key` has 256 bits. */
export function createSecretBox(key: Buffer) {
  return {
    /** `path` is the setting's; a sealed value cannot be moved to another setting. */
    seal(path: string, text: string): string {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(path));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
    },
    /** Null if it was sealed with another key. */
    open(path: string, sealed: string): string | null {
      const bytes = Buffer.from(sealed, 'base64');
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
      const tagEnd = NONCE_BYTES + TAG_BYTES;
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(path))
        .setAuthTag(bytes.subarray(NONCE_BYTES, tagEnd));
      try {
        return decipher.update(bytes.subarray(tagEnd), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        return null;
      }
    },
  };
}

/** 256 bits in hex: no proof answers two of them. */
export const isNonce = (text: unknown): text is string =>
  typeof text === 'string' && /^[0-9a-f]{64}$/.test(text);

/**
 * Proves knowledge of the control token without showing it. It holds for one nonce, and for one end of the gateway's own
 * connections: who takes another address or port and passes the nonce on gets a proof that is of no use there.
 */
export function controlProof(
  token: string,
  nonce: string,
  { address, port }: { readonly address: string | undefined; readonly port: number | undefined },
): string {
  const at = `${canonicalIp(address ?? '') ?? ''} ${port ?? ''}`;
  return createHmac('sha256', token)
    .update(`inglenook control proof\n${at}\n${nonce}`)
    .digest('hex');
}
