import type { RelaunchOptions } from 'electron';
import { ACTION_SWITCH } from './command-line.ts';
import { HIDDEN_SWITCH } from './login-item.ts';

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
