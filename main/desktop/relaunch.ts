import type { RelaunchOptions } from 'electron';
import { ACTION_SWITCH } from './command-line.ts';
import { HIDDEN_SWITCH } from './login-item.ts';

export interface ProcessStart {
  /** Of this process, the program first. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * For `app.relaunch`: the same program with the words that it was started with, which name the app's folder where it is
 * not packed, but for how its window opens: that is what `words` say now.
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
    // An AppImage's own program lies in a mount that ends with it.
    ...(image === undefined ? {} : { execPath: image }),
  };
}
