import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { homeDirectory, readTextFile, replaceFile } from '../platform/files.ts';
import { cliProgram } from './command-line.ts';

/** The terminal command `switchyard`: a small script that starts the app's executable. */
export interface TerminalCommand {
  readonly file: string;
  /** The file exists and starts this program. */
  isOn(): boolean;
  /** Throws with the system's message. */
  set(isOn: boolean): void;
}

interface TerminalCommandDeps {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly execPath: string;
}

/** Where the deb and rpm packages install the app. */
const PACKAGE_FOLDER = '/opt/Switchyard/';

/** Null if the package has installed the command (deploy/desktop/switchyard). */
export function createTerminalCommand(deps: TerminalCommandDeps): TerminalCommand | null {
  const { platform, env, execPath } = deps;
  if (platform === 'linux' && execPath.startsWith(PACKAGE_FOLDER)) return null;
  const isWindows = platform === 'win32';
  const file = isWindows
    ? join(env['LOCALAPPDATA'] || homeDirectory(), 'Microsoft', 'WindowsApps', 'switchyard.cmd')
    : join(env['HOME'] || homeDirectory(), '.local/bin/switchyard');
  // An AppImage runs from a temporary mount; APPIMAGE is the path of the file itself.
  const words = cliProgram(env['APPIMAGE'] ?? execPath);
  const text = isWindows ? windowsScript(words) : unixScript(words);
  return {
    file,
    isOn: () => readTextFile(file) === text,
    set(isOn) {
      if (!isOn) {
        rmSync(file, { force: true });
        return;
      }
      mkdirSync(join(file, '..'), { recursive: true });
      replaceFile(file, text);
      if (!isWindows) chmodSync(file, 0o755);
    },
  };
}

function unixScript(words: readonly string[]): string {
  const [program = '', ...options] = words;
  const quoted = `'${program.replaceAll("'", String.raw`'\''`)}'`;
  return `#!/bin/sh\nexec ${[quoted, ...options].join(' ')} "$@"\n`;
}

/** Windows file names cannot contain quotation marks; a percent sign would begin a variable. */
function windowsScript(words: readonly string[]): string {
  const [program = '', ...options] = words;
  return `@"${program.replaceAll('%', '%%')}" ${options.join(' ')} %*\r\n`;
}
