import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newSecret } from './secret-text.ts';

const FILE = 'control-token';

/** The token that proves control of this installation, made at the first start, for its owner's eyes only. */
export function controlToken(directory: string): string {
  const known = readControlToken(directory);
  if (known !== null) return known;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const token = newSecret();
  writeFileSync(join(directory, FILE), `${token}\n`, { mode: 0o600 });
  return token;
}

/** The token as it stands in its file; null when there is none yet. */
export function readControlToken(directory: string): string | null {
  try {
    const token = readFileSync(join(directory, FILE), 'utf8').trim();
    return token.length >= 32 ? token : null;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
