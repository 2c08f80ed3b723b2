import { parseArgs } from 'node:util';
import { argumentText, type Command, type Option, optionsOf } from './command.ts';

type ReadArguments =
  | {
      readonly kind: 'read';
      readonly words: readonly string[];
      readonly options: Readonly<Record<string, string | true>>;
    }
  /** `message` is one sentence that names the argument. */
  | { readonly kind: 'bad'; readonly message: string };

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

function countProblem(
  { name, arguments: all = [] }: Command,
  words: readonly string[],
): string | null {
  const list = all.map(argumentText).join(' ');
  const needed = all.filter(({ isOptional }) => !isOptional).length;
  if (words.length < needed) return `"${name}" needs ${list}.`;
  if (words.length <= all.length) return null;
  const extra = words.slice(all.length).join(' ');
  return `Unexpected "${extra}": "${name}" takes ${list === '' ? 'no arguments' : list}.`;
}

function choiceProblem(
  { name, arguments: all = [] }: Command,
  words: readonly string[],
): string | null {
  for (const [index, { choices }] of all.entries()) {
    const word = words[index];
    if (choices === undefined || word === undefined || choices.includes(word)) continue;
    return `"${name}" takes ${choices.join(', ')}, but not "${word}".${didYouMean(word, choices)}`;
  }
  return null;
}

/** A typo has at most this many edits, and at most a third of the word's length. */
const MAX_EDITS = 2;

/** `Did you mean "status"?` with a leading space; empty if no other word is close. */
export function didYouMean(word: string, known: readonly string[]): string {
  const near = nearest(word, known);
  return near === null || near === word ? '' : ` Did you mean "${near}"?`;
}

/** The only known word that starts with `word`, otherwise the closest in spelling; null if none is close. */
export function nearest(word: string, known: readonly string[]): string | null {
  const longer = known.filter((each) => word.length > 1 && each.startsWith(word));
  if (longer.length === 1) return longer[0] ?? null;
  const limit = Math.min(MAX_EDITS, Math.floor(word.length / 3));
  const [best] = known
    .map((each) => ({ each, edits: editsBetween(word, each) }))
    .filter(({ edits }) => edits <= limit)
    .toSorted((one, other) => one.edits - other.edits);
  return best?.each ?? null;
}

/** Letters inserted, deleted, replaced or swapped with their neighbour (optimal string alignment). */
function editsBetween(one: string, other: string): number {
  let before: number[] = [];
  let above = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row += 1) {
    const line = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const at = (list: readonly number[], index: number) => list[index] ?? Infinity;
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped =
        one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1] && !isSame;
      line[column] = Math.min(
        at(above, column) + 1,
        at(line, column - 1) + 1,
        at(above, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(before, column - 2) + 1 : Infinity,
      );
    }
    before = above;
    above = line;
  }
  return above[other.length] ?? Infinity;
}
