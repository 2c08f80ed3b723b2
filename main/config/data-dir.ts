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
