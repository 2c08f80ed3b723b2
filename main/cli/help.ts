import {
  type Command,
  EXIT_MEANINGS,
  type Option,
  optionsOf,
  optionText,
  synopsis,
} from './command.ts';
import { didYouMean } from './arguments.ts';

/** The text of `--help`: all commands. */
export function generalHelp(commands: readonly Command[], version: string): string {
  const rows = commands.map((each): Row => [synopsis(each), each.summary]);
  return `switchyard ${version}: an LLM gateway for your own GPUs and hosted fallbacks

Usage: switchyard <command> [options]; without a command it starts the gateway

${columns(rows)}

  switchyard <command> --help explains one command
  switchyard help settings lists all settings
  switchyard --version prints the version

Exit codes:
${columns(Object.entries(EXIT_MEANINGS))}
`;
}

export const SEE_HELP = '"switchyard --help" lists all commands.';

export function unknownCommand(name: string, commands: readonly Command[]): string {
  const known = [...commands.map((each) => each.name), '--version'];
  return `Unknown command "${name}".${didYouMean(name, known)}`;
}

/** As in `logs [options]`. */
export const usage = (command: Command) => `switchyard ${synopsis(command)} [options]`;

export function commandHelp(command: Command): string {
  const options = optionsOf(command).map((each: Option): Row => [optionText(each), each.summary]);
  const details = command.details === undefined ? '' : ` ${command.details}`;
  return `Usage: ${usage(command)}

${wrapped(`${command.summary}${details}`)}

${columns(options)}
`;
}

type Row = readonly [left: string, right: string];

const MAX_LEFT_CHARS = 30;

function columns(rows: readonly Row[]): string {
  const width = Math.min(MAX_LEFT_CHARS, Math.max(...rows.map(([left]) => left.length)));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}

const LINE_CHARS = 100;

function wrapped(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= LINE_CHARS) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.join('\n');
}
