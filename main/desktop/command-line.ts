/** Followed by `--` and the arguments of the command `switchyard`. */
const CLI_SWITCH = '--cli';

/** Chromium looks for a display before our code runs, but a command needs none. */
const NO_SCREEN = '--ozone-platform=headless';

export const ACTION_SWITCH = '--action=';

/** Actions of the desktop entry (electron-builder.yml); a running app carries them out. */
const START_ACTIONS = ['settings', 'quit'] as const;
export type StartAction = (typeof START_ACTIONS)[number];

export function startAction(argv: readonly string[]): StartAction | null {
  return START_ACTIONS.find((action) => argv.includes(ACTION_SWITCH + action)) ?? null;
}

/** The arguments of a command; null if the app itself is to start. */
export function commandWords(argv: readonly string[]): readonly string[] | null {
  const at = argv.indexOf(CLI_SWITCH);
  if (at === -1) return null;
  return argv.slice(argv[at + 1] === '--' ? at + 2 : at + 1);
}

/** The command line that runs `program` as the command `switchyard`. */
export const cliProgram = (program: string): readonly [string, ...string[]] => [
  program,
  NO_SCREEN,
  CLI_SWITCH,
  '--',
];

/** Why the app does not run this command; null if it does. */
export function refusedCommand(words: readonly string[]): string | null {
  const name = words.find((word) => !word.startsWith('-'));
  const isGateway = name === 'start' || words.length === 0;
  if (isGateway) return 'The app is the gateway here: open Switchyard, or "switchyard help".';
  if (name === 'service')
    return 'A service runs under Node, without the app: install the npm package for it. The app itself starts with "Start at login" in its menu.';
  if (name === 'uninstall')
    return 'Remove the app like any other on this system. First switch off "Start at login" and the terminal command in its menu.';
  return null;
}
