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

/**
 * The running gateway's address; null when none has said so, or when it died without taking it back:
 * its port may be another program's by now, which must not be shown the control token.
 */
export function readRunFile(directory: string): string | null {
  try {
    const { url, pid } = JSON.parse(readFileSync(join(directory, FILE), 'utf8')) as {
      url?: unknown;
      pid?: unknown;
    };
    return typeof url === 'string' && typeof pid === 'number' && isAlive(pid) ? url : null;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Another user's process may not be signalled, but it is there.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
