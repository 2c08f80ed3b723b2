import { CommanderError } from 'commander';
import { dataDirectory, fileProblem, isFileProblem } from '../config/data-directory.ts';
import { type CommandOutcome, EXIT, type ExitCode } from './command.ts';
import { createProgram, FROM_USER } from './program.ts';
import { ignoreClosedOutput, print, printError } from './terminal.ts';

const DEFAULT_COMMAND = 'start';

/** Sets the exit code (docs/reference/cli.md#exit-codes). */
export async function runCli(args: readonly string[]): Promise<void> {
  ignoreClosedOutput((args[0] ?? DEFAULT_COMMAND) === DEFAULT_COMMAND);
  const exitCode = await runLine(args, process.env);
  if (exitCode !== EXIT.done) process.exitCode = exitCode;
}

/** Runs a command line and prints what it gives. */
export async function runLine(args: readonly string[], env: NodeJS.ProcessEnv): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const directory = dataDirectory(env, process.platform);
  const program = createProgram(async (run, given) => {
    const outcome = await run({ env, dataDirectory: directory, ...given });
    report(outcome, given.options['json'] === true);
    ({ exitCode } = outcome);
  });
  try {
    await program.parseAsync(args.length === 0 ? [DEFAULT_COMMAND] : args, FROM_USER);
  } catch (error) {
    if (isFileProblem(error)) {
      printError(fileProblem(error, directory));
      // What has been opened so far would keep the process running.
      process.exit(EXIT.failed);
    }
    // Commander has printed help, the version, or what is wrong with the line.
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
  return exitCode;
}

function report(outcome: CommandOutcome, asJson: boolean): void {
  if (outcome.kind === 'answer') {
    print(asJson ? JSON.stringify(outcome.data, null, 2) : outcome.text);
    if (!asJson && outcome.note !== null) printError(outcome.note);
  }
  if (outcome.kind === 'failed') printError(outcome.message);
}
