/** One command of the table, from which help, suggestions and docs/reference/cli.md are made. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  /** Further sentences, for the command's own help. */
  readonly details?: string;
  readonly arguments?: readonly Argument[];
  /** Those of its own. */
  readonly options?: readonly Option[];
  /** It prints text only, and has no `--json`. */
  readonly isText?: true;
  run(input: Input): Promise<CommandOutcome>;
}

interface Argument {
  readonly name: string;
  readonly isOptional?: true;
  /** The only words that are allowed. */
  readonly choices?: readonly string[];
}

export interface Option {
  readonly name: string;
  readonly short?: string;
  /** The placeholder, such as `name` in `--model <name>`; left out if the option takes no value. */
  readonly value?: string;
  readonly summary: string;
}

export interface Input {
  readonly env: NodeJS.ProcessEnv;
  readonly dataDirectory: string;
  /** In the order of the command's arguments. */
  readonly words: readonly string[];
  /** The given options by name; true for one that takes no value. */
  readonly options: Readonly<Record<string, string | true>>;
}

const HELP: Option = { name: 'help', short: 'h', summary: 'Explain this command.' };
const JSON_OPTION: Option = { name: 'json', summary: 'Print JSON, for scripts.' };

export const optionsOf = ({ options = [], isText }: Command): readonly Option[] =>
  isText ? [...options, HELP] : [...options, JSON_OPTION, HELP];

/** As in `join <url> <token>`. */
export function synopsis({ name, arguments: all = [] }: Command): string {
  return [name, ...all.map(argumentText)].join(' ');
}

export function argumentText({ name, isOptional, choices }: Argument): string {
  const inner = choices === undefined ? name : choices.join('|');
  return isOptional ? `[${inner}]` : `<${inner}>`;
}

/** As in `-n, --lines <count>`. */
export function optionText({ name, short, value }: Option): string {
  const names = short === undefined ? `--${name}` : `-${short}, --${name}`;
  return value === undefined ? names : `${names} <${value}>`;
}

/** Exit codes (docs/reference/cli.md#exit-codes). */
export const EXIT = { done: 0, failed: 1, usage: 2, notRunning: 3 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_MEANINGS: Readonly<Record<ExitCode, string>> = {
  0: 'Done.',
  1: 'The command failed, or found a problem. Standard error says why.',
  2: 'The command line is wrong. Nothing was done.',
  3: 'No gateway is running with this data directory.',
};

/** The result of a command, printed by the caller. */
export type CommandOutcome =
  | {
      readonly kind: 'answer';
      /** Printed by `--json`. */
      readonly data: unknown;
      readonly text: string;
      readonly exitCode: ExitCode;
    }
  | { readonly kind: 'failed'; readonly message: string; readonly exitCode: ExitCode }
  /** The command has printed everything itself. */
  | { readonly kind: 'printed'; readonly exitCode: ExitCode };

export function answer(
  data: unknown,
  text: string,
  exitCode: ExitCode = EXIT.done,
): CommandOutcome {
  return { kind: 'answer', data, text, exitCode };
}

export function failed(
  message: string,
  exitCode: ExitCode = EXIT.failed,
): Extract<CommandOutcome, { readonly kind: 'failed' }> {
  return { kind: 'failed', message, exitCode };
}
