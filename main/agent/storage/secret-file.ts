import { chmodSync, readFileSync, renameSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Clock } from '../../platform/clock.ts';
import { codeOf } from '../../platform/errors.ts';
import { asideName, replaceFile, replaceFileAsync } from '../../platform/files.ts';

/** For the owner: what happened to a file, and the remedy. */
export interface FileWarning {
  readonly happened: string;
  readonly remedy: string;
}

/** Content of a small file of the agent. */
export type SecretFileContent =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'missing' }
  /** `detail` is the system's code, such as `EACCES`. */
  | { readonly kind: 'unreadable'; readonly detail: string };

const OWNER_ONLY = 0o600;

export function readSecretFile(path: string): SecretFileContent {
  try {
    return { kind: 'text', text: readFileSync(path, 'utf8') };
  } catch (error) {
    const detail = codeOf(error) ?? 'unknown';
    return detail === 'ENOENT' ? { kind: 'missing' } : { kind: 'unreadable', detail };
  }
}

/** Returns the error code, or null. */
export function writeSecretFile(path: string, text: string): string | null {
  try {
    replaceFile(path, text);
    return null;
  } catch (error) {
    return codeOf(error) ?? 'unknown';
  }
}

/** `writeSecretFile` off the main thread. */
export async function writeSecretFileLater(path: string, text: string): Promise<string | null> {
  try {
    await replaceFileAsync(path, text);
    return null;
  } catch (error) {
    return codeOf(error) ?? 'unknown';
  }
}

/** A missing file counts as removed. */
export async function removeSecretFile(path: string): Promise<string | null> {
  try {
    await rm(path, { force: true });
    return null;
  } catch (error) {
    return codeOf(error) ?? 'unknown';
  }
}

/** Renames a damaged file, so that it can be examined; returns its new path. */
export function setAside(path: string, clock: Clock): string {
  const aside = asideName(path, clock.now());
  try {
    renameSync(path, aside);
  } catch {
    // The file stays and is overwritten, for example on a disk that does not allow renames.
  }
  return aside;
}

/** Makes a secret file unreadable to other users; returns whether they could read it until now. */
export function closeToOthers(path: string, platform: string): boolean {
  // Windows has no such bits; the data directory is in the user's profile.
  if (platform === 'win32') return false;
  try {
    const wasOpen = (statSync(path).mode & 0o077) !== 0;
    if (wasOpen) chmodSync(path, OWNER_ONLY);
    return wasOpen;
  } catch {
    return false;
  }
}
