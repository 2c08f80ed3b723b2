import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A new secret of 256 bits, as hex. */
export function newSecret(): string {
  return randomBytes(32).toString('hex');
}

/** True for text that may be one of `newSecret`'s: spares a digest of what cannot. */
export function isSecretShaped(text: string): boolean {
  return text.length === 64;
}

/** SHA-256 of a secret: what is kept of it where it only needs to be recognised. */
export function digestOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Whether `secret` is one of `digests`; takes the same time wherever it differs. */
export function isOneOf(secret: string, digests: readonly Buffer[]): boolean {
  if (digests.length === 0) return false;
  const digest = digestOf(secret);
  let found = false;
  for (const known of digests) found = timingSafeEqual(digest, known) || found;
  return found;
}
