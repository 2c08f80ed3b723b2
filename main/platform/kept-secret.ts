import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { newSecret } from './secret-text.ts';

/** What a secret of the program's own has at least, in characters. */
const MIN_LENGTH = 32;

/** The secret in the file at `path`, made at the first start, for its owner's eyes only. */
export function keptSecret(path: string): string {
  const known = readSecret(path);
  if (known !== null) return known;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const secret = newSecret();
  writeFileSync(path, `${secret}\n`, { mode: 0o600 });
  return secret;
}

/** The secret as it stands in its file; null when there is none yet. */
export function readSecret(path: string): string | null {
  try {
    const secret = readFileSync(path, 'utf8').trim();
    return secret.length >= MIN_LENGTH ? secret : null;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
