import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

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

/** What a secret of the program's own has at least, in characters. */
const MIN_LENGTH = 32;

/** The secret in the file at `path`, made at the first start, for its owner's eyes only. */
export function storedSecret(path: string): string {
  const known = readSecret(path);
  if (known !== null) return known;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const secret = newSecret();
  writeFileSync(path, `${secret}\n`, { mode: 0o600 });
  return secret;
}

/** The secret as it stands in its file; null when there is none yet. */
function readSecret(path: string): string | null {
  try {
    const secret = readFileSync(path, 'utf8').trim();
    return secret.length >= MIN_LENGTH ? secret : null;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

const FILE = 'control-token';

/** The token that proves control of this installation, made at the first start. */
export function controlToken(directory: string): string {
  return storedSecret(join(directory, FILE));
}

/** The token as it stands in its file; null when there is none yet. */
export function readControlToken(directory: string): string | null {
  return readSecret(join(directory, FILE));
}

/** Tells the requests of this run from those of others; drawn once, for randomness costs 7 µs a time. */
const run = randomBytes(6).toString('hex');
let count = 0;

/** A new id such as `req_1f0c9a2b3d4e00002s`: what a caller can name when something went wrong. */
export function newRequestId(): string {
  count += 1;
  return `req_${run}${count.toString(36).padStart(6, '0')}`;
}
