export interface Input {
  readonly env: NodeJS.ProcessEnv;
  readonly dataDirectory: string;
  /** In the order of the command's arguments. */
  readonly words: readonly string[];
  /** The given options by name, such as `requestsDay`; true for one that takes no value. */
  readonly options: Readonly<Record<string, string | true>>;
}

/** Exit codes (docs/reference/cli.md#exit-codes). */
export const EXIT = { done: 0, failed: 1, usage: 2, notRunning: 3 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_MEANINGS: Readonly<Record<ExitCode, string>> = {
  0: 'Done.',
  1: 'The command failed, or found a problem. Standard error says why.',
  2: 'A command or option is unknown, or an argument missing or malformed.',
  3: 'No gateway is running with this data directory.',
};

/** The result of a command, printed by the caller. */
export type CommandOutcome =
  | {
      readonly kind: 'answer';
      /** Printed by `--json`. */
      readonly data: unknown;
      /** Printed on standard output, where scripts read it. */
      readonly text: string;
      /** Advice about the text, printed on standard error. */
      readonly note: string | null;
      readonly exitCode: ExitCode;
    }
  | { readonly kind: 'failed'; readonly message: string; readonly exitCode: ExitCode }
  /** The command has printed everything itself. */
  | { readonly kind: 'printed'; readonly exitCode: ExitCode };

export function answer(
  data: unknown,
  text: string,
  { note = null, exitCode = EXIT.done }: { note?: string | null; exitCode?: ExitCode } = {},
): CommandOutcome {
  return { kind: 'answer', data, text, note, exitCode };
}

export function failed(
  message: string,
  exitCode: ExitCode = EXIT.failed,
): Extract<CommandOutcome, { readonly kind: 'failed' }> {
  return { kind: 'failed', message, exitCode };
}
