import { Argument, Command } from 'commander';
import { SIGN_IN_LINK } from '#shared/lifetimes.ts';
import { createSettingsHelp } from '../config/load.ts';
import { VERSION } from '../platform/process.ts';
import { type CommandOutcome, EXIT_MEANINGS, type Input } from './command.ts';
import { doctor } from './doctor.ts';
import { KEY_LIMIT_OPTIONS, keys } from './keys.ts';
import { machines, models } from './lists.ts';
import { logs } from './logs.ts';
import { openWindow } from './open.ts';
import { changeModel, free, leave, reset, setMode } from './owner-commands.ts';
import { runUninstall, service } from './service/service.ts';
import { getSettings, setSetting } from './settings.ts';
import { status } from './status.ts';
import { print, printError } from './terminal.ts';

type Run = (input: Input) => Promise<CommandOutcome>;

/** Runs what the command line names, and prints its outcome. */
type Execute = (run: Run, given: Pick<Input, 'words' | 'options'>) => Promise<void>;

/**
 * All commands; help and docs/reference/cli.md are made from them. The larger parts of the program are imported only
 * when a command needs them.
 */
export function createProgram(execute: Execute): Command {
  const program = new Command('inglenook')
    .description("Use your own GPU in your AI apps. When it can't answer, an API you chose does.")
    .usage('<command> [options]; without a command it starts the gateway')
    .version(VERSION, '-v, --version', 'Print the version.')
    .helpOption('-h, --help', 'Explain this command.')
    .helpCommand(false)
    .addHelpText('after', AFTER_HELP)
    .showHelpAfterError('"inglenook --help" lists all commands.')
    .configureOutput({ writeOut: print, writeErr: printError })
    .exitOverride();

  /** Adds a command: `line` has its name and arguments; only its own help shows `details` and its examples. */
  const add = (line: string, summary: string, details: string, run: Run): Command => {
    const command = program.command(line).summary(summary);
    const examples = EXAMPLES[command.name()];
    if (examples !== undefined)
      command.addHelpText('after', `\nExample:\n${examples.replaceAll(/^/gm, '  ')}`);
    return command
      .description(`${summary} ${details}`.trim())
      .helpOption('-h, --help', 'Explain this command.')
      .showHelpAfterError(`"inglenook ${command.name()} --help" explains it.`)
      .action(() => execute(run, { words: command.args, options: command.opts() }));
  };

  add(
    'start',
    'Run the gateway in the foreground. Press Ctrl+C to stop it.',
    'It also serves the dashboard; "inglenook open" opens it. When the gateway stops, running requests may finish.',
    async (input) => (await import('./serve.ts')).start(input),
  );
  add(
    'status',
    'Print which sources can serve, and the state of this machine.',
    'Exit code 1 if the gateway runs but nothing can serve.',
    status,
  );
  add(
    'open',
    'Open the dashboard in your browser, signed in.',
    `Prints a sign-in link that works once and expires in ${SIGN_IN_LINK.words}.`,
    openWindow,
  ).option('--print', 'Only print the link.');
  add('models', 'List the models that apps can ask for.', '', models);
  add('logs', 'Print the end of the log.', '', logs)
    .option('-f, --follow', 'Keep printing new lines as they are written.')
    .option('-n, --lines <count>', 'How many lines to start with; 50 by default.');
  add('get [path]', 'Print all settings, one section, or one setting.', '', getSettings);
  add(
    'set <path> <value>',
    'Change a setting.',
    '"default" restores the default. "-" reads the value from standard input: use it for keys, as other programs can see a command line.',
    setSetting,
  );
  const keysCommand = add(
    'keys',
    'List, create, limit or revoke keys for apps.',
    'A new key is printed once. With the first key, every app needs one. "add" and "limit" set limits.',
    keys,
  )
    .addArgument(choice('list', 'add', 'limit', 'revoke'))
    .argument('[name]');
  for (const option of KEY_LIMIT_OPTIONS) keysCommand.addOption(option);
  add(
    'machines',
    'List, add, test again or remove the machines that have joined.',
    '"add" prints the join command.',
    machines,
  )
    .addArgument(choice('list', 'add', 'verify', 'remove').argOptional())
    .argument('[id]');
  add(
    'reset <id>',
    'Try a source or machine again now.',
    'It may be paused after failures, or skipped for its key, credit or rate limit.',
    reset,
  );
  add(
    'join <url> <token>',
    'Join another gateway, so that it can use this GPU. Copy the full command from “Add a machine” there.',
    '',
    async (input) => (await import('./join.ts')).runJoin(input),
  ).option('--yes', 'Continue over plain HTTP without asking.');
  add('leave', 'Leave the gateway that this machine has joined.', '', leave);
  for (const [name, mode, summary] of MODES)
    add(name, summary, '', (input) => setMode(input, mode));
  add(
    'free',
    'Unload all models, so that other programs can use the GPU.',
    'Running requests have 30 s to finish; other sources answer meanwhile. "resume", or the end of the time given with --for, loads the same models again. Exit code 1 if a model stays in memory.',
    free,
  ).option('--for <time>', 'How long, such as 2h, 90m or 1h30m. Without it: until "resume".');
  const soon = 'a model on this machine as soon as no request runs.';
  const again = 'The next request for it loads it again; "free" keeps requests away.';
  add('load <model>', `Load ${soon}`, '', (input) => changeModel(input, 'load'));
  add('unload <model>', `Unload ${soon}`, again, (input) => changeModel(input, 'unload'));
  add(
    'doctor',
    'Print what the test of this machine found, and the problems of its agent.',
    'Exit code 1 while the machine has not passed the test or its agent is off, unless the engine at local.baseUrl serves.',
    doctor,
  );
  add(
    'service',
    'Run the gateway as a service that starts automatically.',
    'systemd on Linux, launchd on macOS, a scheduled task on Windows. "status" exits with code 0 while the service is running, otherwise 1.',
    service,
  )
    .addArgument(choice('install', 'remove', 'status'))
    .option('--print', 'Only print what would be installed.');
  add(
    'uninstall',
    'Remove this program and its service; its settings and keys stay.',
    'It removes the service first, and refuses while this gateway still runs.',
    runUninstall,
  );
  for (const command of program.commands)
    if (command.name() !== 'start') command.option('--json', 'Print JSON, for scripts.');
  program
    .command('help [command]')
    .description('Explain one command, or list all commands; "help settings" lists all settings.')
    .action(async (name?: string) => {
      const isCommand = program.commands.some((command) => command.name() === name);
      if (name === 'settings') print(createSettingsHelp());
      else if (name === undefined || isCommand)
        await program.parseAsync(name === undefined ? ['--help'] : [name, '--help'], FROM_USER);
      else await program.parseAsync([name], FROM_USER);
    });
  return program;
}

const MODES = [
  ['pause', 'paused', 'Hold this machine back, and cut its running answers off.'],
  [
    'drain',
    'drained',
    'Hold this machine back, but let running answers finish. "free" also unloads models.',
  ],
  [
    'resume',
    'on',
    'Take requests again, even if a rule holds this machine back. Also ends "free".',
  ],
] as const;

/** Uses of the commands that take more than their name, one a line, for their help and docs/reference/cli.md. */
export const EXAMPLES: Readonly<Record<string, string>> = {
  get: 'inglenook get circuit',
  set: 'inglenook set agent.onlyWhenIdle true',
  keys: `inglenook keys list
inglenook keys add anna --requests-day 500
inglenook keys limit anna --tokens-day none
inglenook keys revoke anna`,
  machines: `inglenook machines
inglenook machines verify prv_…`,
  reset: 'inglenook reset hosted_a',
};

/** The arguments do not include the paths of Node and of the script. */
export const FROM_USER = { from: 'user' } as const;

const choice = (...words: readonly string[]) => new Argument(`<${words.join('|')}>`).choices(words);

const AFTER_HELP = `
inglenook help settings lists all settings.

Exit codes:
${Object.entries(EXIT_MEANINGS)
  .map(([code, meaning]) => `  ${code}  ${meaning}`)
  .join('\n')}`;
