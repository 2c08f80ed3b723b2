import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { homeDirectory } from '../platform/files.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The directory for settings, keys and logs: `INGLENOOK_DATA_DIR`, else where the OS keeps such data. */
export function dataDirectory(env: Environment, platform: NodeJS.Platform): string {
  const chosen = env['INGLENOOK_DATA_DIR']?.trim();
  if (chosen !== undefined && chosen !== '') return resolve(chosen);
  switch (platform) {
    case 'darwin':
      return join(homeDirectory(), 'Library', 'Application Support', 'Inglenook');
    case 'win32':
      return join(env['APPDATA'] || join(homeDirectory(), 'AppData', 'Roaming'), 'Inglenook');
    default:
      return join(env['XDG_DATA_HOME'] || join(homeDirectory(), '.local', 'share'), 'inglenook');
  }
}

/**
 * Makes the directory, with mode 0700, and sets that mode on the default one if others can read or write it. A
 * directory from `INGLENOOK_DATA_DIR` may be shared on purpose, so there it only warns. Returns one line per warning.
 */
export function openDataDirectory(env: Environment, platform: NodeJS.Platform): readonly string[] {
  const directory = dataDirectory(env, platform);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // Windows has no such bits; the default directory is in the user's profile.
  if (platform === 'win32') return [];
  const { mode, uid } = statSync(directory);
  if (uid !== process.getuid?.())
    return [
      `The data directory ${directory} belongs to another user, who can read and replace the keys in it; set INGLENOOK_DATA_DIR to one of your own.`,
    ];
  if ((mode & 0o077) === 0) return [];
  if (env['INGLENOOK_DATA_DIR'] === undefined) {
    chmodSync(directory, 0o700);
    return [
      `Other users could open the data directory ${directory}; its permissions are fixed now.`,
    ];
  }
  const bits = (mode & 0o777).toString(8);
  return [
    `Other users can open the data directory ${directory} (mode ${bits}); "chmod 700 ${directory}" makes it private.`,
  ];
}

type FileProblem = NodeJS.ErrnoException & { readonly code: string; readonly path: string };

export function isFileProblem(error: unknown): error is FileProblem {
  return error instanceof Error && 'code' in error && 'path' in error;
}

/** What happened and what to do, in one line. */
export function fileProblem({ code, path }: FileProblem, directory: string): string {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return `The disk of the data directory ${directory} has no room for more data (${code}); free some space on it and start again.`;
    case 'EISDIR':
      return `${path} is a folder where a file belongs (${code}); move it away and start again.`;
    default:
      return `The data directory ${directory} cannot be used (${code}); set INGLENOOK_DATA_DIR to one that can.`;
  }
}
