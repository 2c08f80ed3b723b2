import { VERSION } from '../platform/process.ts';
import { dataDirectory, inUsableDirectory } from '../config/data-directory.ts';
import { didYouMean, readArguments } from './arguments.ts';
import { type Command, type CommandOutcome, EXIT, type ExitCode } from './command.ts';
import { SEE_HELP, unknownCommand, usage, COMMANDS, helpText } from './table.ts';
import { ignoreClosedOutput, print, printError } from './terminal.ts';

const DEFAULT_COMMAND = 'start';
const GLOBAL_HELP: readonly string[] = ['--help', '-h'];
const GLOBAL_VERSION: readonly string[] = ['--version', '-v'];

/** Sets the exit code (docs/reference/cli.md#exit-codes). */
export async function runCli(args: readonly string[]): Promise<void> {
  ignoreClosedOutput(isStart(parse(args)));
  const exitCode = await runLine(args, process.env);
  if (exitCode !== EXIT.done) process.exitCode = exitCode;
}

/** Runs a command line and prints what it gives. */
export async function runLine(args: readonly string[], env: NodeJS.ProcessEnv): Promise<ExitCode> {
  const parsed = parse(args);
  switch (parsed.kind) {
    case 'text':
      print(parsed.text);
      return EXIT.done;
    case 'bad':
      printError(`${parsed.message}\n${parsed.advice}`);
      return EXIT.usage;
    case 'run':
      return run(parsed, env);
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
    const advice = `Usage: ${usage(command)}; "inglenook ${name} --help" explains it.`;
    return { kind: 'bad', message: read.message, advice };
  }
  if (read.options['help'] === true) return { kind: 'text', text: helpText(name) };
  return { kind: 'run', command, words: read.words, options: read.options };
}

const isStart = (parsed: Parsed) =>
  parsed.kind === 'run' && parsed.command.name === DEFAULT_COMMAND;

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

async function run(
  { command, words, options }: Parsed & { kind: 'run' },
  env: NodeJS.ProcessEnv,
): Promise<ExitCode> {
  const directory = dataDirectory(env, process.platform);
  return inUsableDirectory(directory, async () => {
    const outcome = await command.run({ env, dataDirectory: directory, words, options });
    report(outcome, options['json'] === true);
    return outcome.exitCode;
  });
}

function report(outcome: CommandOutcome, asJson: boolean): void {
  if (outcome.kind === 'answer') {
    print(asJson ? JSON.stringify(outcome.data, null, 2) : outcome.text);
  }
  if (outcome.kind === 'failed') printError(outcome.message);
}
