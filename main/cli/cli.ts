import { VERSION } from '../app/package.ts';
import { dataDirectory, inUsableDirectory } from '../config/data-directory.ts';
import { didYouMean, readArguments } from './arguments.ts';
import { type Command, type CommandOutcome, EXIT } from './command.ts';
import { SEE_HELP, unknownCommand, usage, COMMANDS, helpText } from './table.ts';
import { ignoreClosedOutput, print, printError } from './terminal.ts';

const DEFAULT_COMMAND = 'start';
const GLOBAL_HELP: readonly string[] = ['--help', '-h'];
const GLOBAL_VERSION: readonly string[] = ['--version', '-v'];

/** Sets the exit code (docs/reference/cli.md#exit-codes). */
export async function runCli(args: readonly string[]): Promise<void> {
  const parsed = parse(args);
  ignoreClosedOutput(parsed.kind === 'run' && parsed.command.name === DEFAULT_COMMAND);
  switch (parsed.kind) {
    case 'text':
      print(parsed.text);
      return;
    case 'bad':
      printError(`${parsed.message}\n${parsed.advice}`);
      process.exitCode = EXIT.usage;
      return;
    case 'run':
      await run(parsed.command, parsed);
  }
}

type Parsed =
  | {
      readonly kind: 'run';
      readonly command: Command;
      readonly words: readonly string[];
      readonly options: Readonly<Record<string, string | true>>;
    }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bad'; readonly message: string; readonly advice: string };

/** Options may also come before the command's name. */
function parse(args: readonly string[]): Parsed {
  const at = args.findIndex((arg) => !arg.startsWith('-'));
  const name = args[at];
  if (name === undefined) return parseWithoutName(args);
  const command = COMMANDS.find((each) => each.name === name);
  if (command === undefined) {
    return { kind: 'bad', message: unknownCommand(name, COMMANDS), advice: SEE_HELP };
  }
  const read = readArguments(command, args.toSpliced(at, 1));
  if (read.kind === 'bad') {
    const advice = `Usage: ${usage(command)}; "switchyard ${name} --help" explains it.`;
    return { kind: 'bad', message: read.message, advice };
  }
  if (read.options['help'] === true) return { kind: 'text', text: helpText(name) };
  return { kind: 'run', command, words: read.words, options: read.options };
}

function parseWithoutName(args: readonly string[]): Parsed {
  const [first, ...others] = args;
  if (first === undefined) return parse([DEFAULT_COMMAND]);
  const known = [...GLOBAL_VERSION, ...GLOBAL_HELP];
  const wrong = known.includes(first) ? others[0] : first;
  if (wrong !== undefined) {
    const message = `Unexpected "${wrong}".${didYouMean(wrong, known)}`;
    return { kind: 'bad', message, advice: SEE_HELP };
  }
  return { kind: 'text', text: GLOBAL_VERSION.includes(first) ? VERSION : helpText(undefined) };
}

async function run(command: Command, { words, options }: Parsed & { kind: 'run' }): Promise<void> {
  const { env } = process;
  const directory = dataDirectory(env, process.platform);
  await inUsableDirectory(directory, async () => {
    const input = { env, dataDirectory: directory, words, options };
    report(await command.run(input), options['json'] === true);
  });
}

function report(outcome: CommandOutcome, asJson: boolean): void {
  if (outcome.kind === 'answer') {
    print(asJson ? JSON.stringify(outcome.data, null, 2) : outcome.text);
  }
  if (outcome.kind === 'failed') printError(outcome.message);
  if (outcome.exitCode !== EXIT.done) process.exitCode = outcome.exitCode;
}
