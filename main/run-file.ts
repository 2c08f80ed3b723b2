import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = 'running.json';

/** Says where the running gateway of this data directory is, so that `switchyard open` finds it. */
export function writeRunFile(directory: string, url: string): void {
  writeFileSync(join(directory, FILE), `${JSON.stringify({ url, pid: process.pid })}\n`, {
    mode: 0o600,
  });
}

/** Takes it back when the gateway stops. */
export function removeRunFile(directory: string): void {
  rmSync(join(directory, FILE), { force: true });
}

/** The running gateway's address; null when none has said so. */
export function readRunFile(directory: string): string | null {
  try {
    const value = JSON.parse(readFileSync(join(directory, FILE), 'utf8')) as { url?: unknown };
    return typeof value.url === 'string' ? value.url : null;
  } catch {
    return null;
  }
}
