import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Seals secrets for `secrets.json` with a key that is kept elsewhere, such as in the system's keychain. */
export interface SecretBox {
  /** `path` is the setting's; a sealed value cannot be moved to another setting. */
  seal(path: string, text: string): string;
  /** Null if it was sealed with another key. */
  open(path: string, sealed: string): string | null;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A key for a new box. */
export const newBoxKey = (): Buffer => randomBytes(32);

/** `key` has 256 bits. */
export function createSecretBox(key: Buffer): SecretBox {
  return {
    seal(path, text) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(path));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
    },
    open(path, sealed) {
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
