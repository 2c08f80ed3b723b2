import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** The directory for settings, keys and logs: `SWITCHYARD_DATA_DIR`, else where the OS keeps such data. */
export function dataDirectory(env: Environment, platform: NodeJS.Platform): string {
  const chosen = env['SWITCHYARD_DATA_DIR']?.trim();
  if (chosen !== undefined && chosen !== '') return resolve(chosen);
  switch (platform) {
    case 'darwin':
      return join(homedir(), 'Library', 'Application Support', 'Switchyard');
    case 'win32':
      return join(env['APPDATA'] || join(homedir(), 'AppData', 'Roaming'), 'Switchyard');
    default:
      return join(env['XDG_DATA_HOME'] || join(homedir(), '.local', 'share'), 'switchyard');
  }
}

/** Runs what needs the data directory; where that cannot be used it says so, and the process ends with code 1. */
export async function inUsableDirectory(
  directory: string,
  run: () => void | Promise<void>,
): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!isFileProblem(error)) throw error;
    process.stderr.write(
      `The data directory ${directory} cannot be used (${error.code}); set SWITCHYARD_DATA_DIR to one that can.\n`,
    );
    process.exit(1);
  }
}

function isFileProblem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && 'path' in error;
}
