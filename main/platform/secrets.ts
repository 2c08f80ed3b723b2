import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readTextFile, replaceFile } from './files.ts';

/** A new secret of 256 bits, as hex. */
export function newSecret(): string {
  return randomBytes(32).toString('hex');
}

/** Whether a text may come from `newSecret`; others need not be hashed. */
export function isSecretShaped(text: string): boolean {
  return text.length === 64;
}

/** SHA-256, which is stored instead of a secret that only needs to be recognised. */
export function digestOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Whether one of `digests` is that of `secret`, in constant time. */
export function isOneOf(secret: string, digests: readonly Buffer[]): boolean {
  if (digests.length === 0) return false;
  const digest = digestOf(secret);
  let found = false;
  for (const known of digests) found = timingSafeEqual(digest, known) || found;
  return found;
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

/** Makes ids unique across runs; generated once, because random bytes take 7 µs. */
const run = randomBytes(6).toString('hex');
let count = 0;

/** A new id such as `req_1f0c9a2b3d4e00002s`, for callers to quote in reports of problems. */
export function newRequestId(): string {
  count += 1;
  return `req_${run}${count.toString(36).padStart(6, '0')}`;
}
