import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  lchownSync,
  readdirSync,
  readFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** The user `nobody` where this is root, whom some programs refuse; null where it is not. */
export const OTHER_USER = process.getuid?.() === 0 ? nobody() : null;

function nobody(): number {
  const line = /^nobody:[^:]*:(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'));
  return Number(line?.[1] ?? 65_534);
}

/** Where this is root: files of its own become that user's. */
export function giveToOtherUser(...paths: readonly string[]): void {
  if (OTHER_USER === null) return;
  for (const path of paths) chownSync(path, OTHER_USER, OTHER_USER);
}

/** A directory with all that it holds. */
export function giveTreeToOtherUser(directory: string): void {
  if (OTHER_USER === null) return;
  giveToOtherUser(directory);
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' }))
    lchownSync(join(directory, name), OTHER_USER, OTHER_USER);
}

/** This Node where that user can run it: the checkout may lie in a folder that is root's alone. */
export function nodeOfOtherUser(directory: string): string {
  const user = OTHER_USER === null ? {} : { uid: OTHER_USER, gid: OTHER_USER };
  if (spawnSync(process.execPath, ['--version'], user).status === 0) return process.execPath;
  const copy = join(directory, 'node');
  copyFileSync(process.execPath, copy, constants.COPYFILE_FICLONE);
  chmodSync(copy, 0o755);
  giveTreeToOtherUser(directory);
  return copy;
}
