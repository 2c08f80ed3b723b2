/** Starts the app without opening its window. */
export const HIDDEN_SWITCH = 'hidden';

const ACTION_SWITCH = '--action=';

/** Actions of the desktop entry (electron-builder.yml); a running app carries them out. */
const START_ACTIONS = ['settings', 'quit'] as const;
export type StartAction = (typeof START_ACTIONS)[number];

export function startAction(argv: readonly string[]): StartAction | null {
  return START_ACTIONS.find((action) => argv.includes(ACTION_SWITCH + action)) ?? null;
}

/**
 * For `app.relaunch`: the arguments of this start (an unpackaged app needs its folder among them), with those that say
 * how the window opens replaced.
 */
export function relaunchArgs(
  argv: readonly string[],
  opening: StartAction | typeof HIDDEN_SWITCH | null,
): string[] {
  const kept = argv
    .slice(1)
    .filter((word) => word !== `--${HIDDEN_SWITCH}` && !word.startsWith(ACTION_SWITCH));
  if (opening === null) return kept;
  return [...kept, opening === HIDDEN_SWITCH ? `--${HIDDEN_SWITCH}` : ACTION_SWITCH + opening];
}
