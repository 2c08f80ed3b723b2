import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RelaunchOptions } from 'electron';
import { homeDirectory, replaceFile } from '../platform/files.ts';
import { HIDDEN_SWITCH, textOf } from './login-item.ts';

/** Followed by `--` and the arguments of the command `inglenook`. */
const CLI_SWITCH = '--cli';

/** Chromium looks for a display before our code runs, but a command needs none. */
const NO_SCREEN = '--ozone-platform=headless';

export const ACTION_SWITCH = '--action=';

/** Actions of the desktop entry (electron-builder.yml); a running app carries them out. */
const START_ACTIONS = ['settings', 'quit'] as const;
type StartAction = (typeof START_ACTIONS)[number];

export function startAction(argv: readonly string[]): StartAction | null {
  return START_ACTIONS.find((action) => argv.includes(ACTION_SWITCH + action)) ?? null;
}

/** The arguments of a command; null if the app itself is to start. */
export function commandWords(argv: readonly string[]): readonly string[] | null {
  const at = argv.indexOf(CLI_SWITCH);
  if (at === -1) return null;
  return argv.slice(argv[at + 1] === '--' ? at + 2 : at + 1);
}

/** The command line that runs `program` as the command `inglenook`. */
const cliProgram = (program: string): readonly [string, ...string[]] => [
  program,
  NO_SCREEN,
  CLI_SWITCH,
  '--',
];

/** Why the app does not run this command; null if it does. */
export function refusedCommand(words: readonly string[]): string | null {
  const name = words.find((word) => !word.startsWith('-'));
  const isGateway = name === 'start' || words.length === 0;
  if (isGateway) return 'The app is the gateway here: open Inglenook, or "inglenook help".';
  if (name === 'service')
    return 'A service runs under Node, without the app: install the npm package for it. The app itself starts with "Start at login" in its menu.';
  if (name === 'uninstall')
    return 'Remove the app like any other on this system. First switch off "Start at login" and the terminal command in its menu.';
  return null;
}

/** The terminal command `inglenook`: a small script that starts the app's executable. */
export type TerminalCommand = NonNullable<ReturnType<typeof createTerminalCommand>>;

interface TerminalCommandDeps {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly execPath: string;
}

/** Where the deb and rpm packages install the app. */
const PACKAGE_FOLDER = '/opt/Inglenook/';

/** Null if the package has installed the command (deploy/desktop/inglenook). */
export function createTerminalCommand(deps: TerminalCommandDeps) {
  const { platform, env, execPath } = deps;
  if (platform === 'linux' && execPath.startsWith(PACKAGE_FOLDER)) return null;
  const isWindows = platform === 'win32';
  const file = isWindows
    ? join(env['LOCALAPPDATA'] || homeDirectory(), 'Microsoft', 'WindowsApps', 'inglenook.cmd')
    : join(env['HOME'] || homeDirectory(), '.local/bin/inglenook');
  // An AppImage runs from a temporary mount; APPIMAGE is the path of the file itself.
  const words = cliProgram(env['APPIMAGE'] ?? execPath);
  const text = isWindows ? windowsScript(words) : unixScript(words);
  return {
    file,
    /** The file exists and starts this program. */
    isOn: () => textOf(file) === text,
    /** Throws with the system's message. */
    set(isOn: boolean): void {
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

export interface ProcessStart {
  /** The command line of this process, the program first. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * For `app.relaunch`: the arguments of this start (an unpackaged app needs its folder among them), with `words` in
 * place of those that say how the window opens.
 */
export function relaunchOptions(
  { argv, env }: ProcessStart,
  words: readonly string[],
): RelaunchOptions {
  const kept = argv
    .slice(1)
    .filter((word) => word !== `--${HIDDEN_SWITCH}` && !word.startsWith(ACTION_SWITCH));
  const image = env['APPIMAGE'];
  return {
    args: [...kept, ...words],
    // An AppImage runs from a mount that is gone when the app exits; APPIMAGE is the file itself.
    ...(image === undefined ? {} : { execPath: image }),
  };
}
