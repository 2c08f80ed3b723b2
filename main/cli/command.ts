import type { CommandOutcome } from './outcome.ts';

/** One command of the table, from which help, completion, suggestions and docs/cli.md are made. */
export interface Command {
  readonly name: string;
  /** One sentence. */
  readonly summary: string;
  /** Further sentences, for the command's own help. */
  readonly details?: string;
  readonly arguments: readonly Argument[];
  readonly options: readonly Option[];
  run(input: Input): Promise<CommandOutcome>;
}

export interface Argument {
  readonly name: string;
  /** `any`: any number of words, including none. Left out: exactly one word. */
  readonly times?: 'optional' | 'any';
  /** The only words that are allowed. */
  readonly choices?: readonly string[];
  /** Words that shells complete; others are allowed. */
  readonly known?: readonly string[];
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

export const HELP: Option = { name: 'help', short: 'h', summary: 'Explain this command.' };
export const JSON_OPTION: Option = { name: 'json', summary: 'Print JSON, for scripts.' };

export const optionsOf = ({ options }: Command): readonly Option[] => [...options, HELP];

/** As in `join <url> <token>`. */
export function synopsis({ name, arguments: all }: Command): string {
  return [name, ...all.map(argumentText)].join(' ');
}

export function argumentText({ name, times, choices }: Argument): string {
  const inner = choices === undefined ? name : choices.join('|');
  if (times === undefined) return `<${inner}>`;
  return times === 'any' ? `[${inner}...]` : `[${inner}]`;
}

/** As in `-n, --lines <count>`. */
export function optionText({ name, short, value }: Option): string {
  const names = short === undefined ? `--${name}` : `-${short}, --${name}`;
  return value === undefined ? names : `${names} <${value}>`;
}
