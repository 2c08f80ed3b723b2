import { join } from 'node:path';
import { keptSecret, readSecret } from './kept-secret.ts';

const FILE = 'control-token';

/** The token that proves control of this installation, made at the first start. */
export function controlToken(directory: string): string {
  return keptSecret(join(directory, FILE));
}

/** The token as it stands in its file; null when there is none yet. */
export function readControlToken(directory: string): string | null {
  return readSecret(join(directory, FILE));
}
