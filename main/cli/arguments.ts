import { parseArgs } from 'node:util';
import { argumentText, type Command, type Option, optionsOf } from './command.ts';
import { didYouMean } from './suggest.ts';

type ReadArguments =
  | {
      readonly kind: 'read';
      readonly words: readonly string[];
      readonly options: Readonly<Record<string, string | true>>;
    }
  /** `message` is one sentence that names the argument. */
  | { readonly kind: 'bad'; readonly message: string };

/** Parses the arguments of a command. */
export function readArguments(command: Command, args: readonly string[]): ReadArguments {
  const known = optionsOf(command);
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(known.map((option) => [option.name, parserOption(option)])),
  });
  const words: string[] = [];
  const options: Record<string, string | true> = {};
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const option = known.find(({ name }) => name === token.name);
    const problem =
      option === undefined ? unknownOption(token.rawName, command) : valueProblem(option, token);
    if (problem !== null) return { kind: 'bad', message: problem };
    options[token.name] = token.value ?? true;
  }
  if (options['help'] === true) return { kind: 'read', words, options };
  const problem = countProblem(command, words) ?? choiceProblem(command, words);
  return problem === null ? { kind: 'read', words, options } : { kind: 'bad', message: problem };
}

function parserOption({ value, short }: Option) {
  const type = value === undefined ? ('boolean' as const) : ('string' as const);
  return short === undefined ? { type } : { type, short };
}

function unknownOption(rawName: string, command: Command): string {
  const names = optionsOf(command).map(({ name }) => `--${name}`);
  return `"${command.name}" has no option "${rawName}".${didYouMean(rawName, names)}`;
}

interface OptionToken {
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function valueProblem({ value: wanted }: Option, token: OptionToken): string | null {
  const { rawName, value, inlineValue } = token;
  if (wanted === undefined) return value === undefined ? null : `"${rawName}" takes no value.`;
  const isMissing = value === undefined || (value.startsWith('-') && inlineValue !== true);
  return isMissing ? `"${rawName}" needs a value: ${rawName} <${wanted}>.` : null;
}

function countProblem({ name, arguments: all }: Command, words: readonly string[]): string | null {
  const list = all.map(argumentText).join(' ');
  const needed = all.filter(({ times }) => times === undefined).length;
  const allowed = all.some(({ times }) => times === 'any') ? Infinity : all.length;
  if (words.length < needed) return `"${name}" needs ${list}.`;
  if (words.length <= allowed) return null;
  const extra = words.slice(allowed).join(' ');
  return `Unexpected "${extra}": "${name}" takes ${list === '' ? 'no arguments' : list}.`;
}

function choiceProblem({ name, arguments: all }: Command, words: readonly string[]): string | null {
  for (const [index, { choices }] of all.entries()) {
    const word = words[index];
    if (choices === undefined || word === undefined || choices.includes(word)) continue;
    return `"${name}" takes ${choices.join(', ')}, but not "${word}".${didYouMean(word, choices)}`;
  }
  return null;
}
