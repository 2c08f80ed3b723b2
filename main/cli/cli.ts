import { parseArgs } from 'node:util';
import { VERSION } from '../app/version.ts';
import { dataDirectory, inUsableDirectory } from '../config/data-directory.ts';
import { createSettingsHelp } from '../config/load.ts';
import { openLink, sendModeCommand } from './commands.ts';
import { runDoctor } from './doctor.ts';
import { runJoin } from './join.ts';
import { runHeadless } from './serve.ts';
import { getSettings, setSetting } from './settings.ts';
import { runUninstall } from './uninstall.ts';

const USAGE = `switchyard ${VERSION}: an LLM gateway over your own GPUs and your hosted fallbacks

  switchyard                     run the gateway with its window in a browser
  switchyard open                print a new link that gives a browser control
  switchyard join <url> <token>  let another gateway use this machine; its window shows the line
             --yes               continue over plain HTTP without asking
  switchyard pause               take no requests on this machine, and end running ones
  switchyard drain               take no new requests on this machine; running ones may finish
  switchyard resume              take requests again, whatever rule pauses this machine now
  switchyard get [path]          print the settings, those of a section, or one
  switchyard set <path> <value>  change one while Switchyard runs, as in: set agent.onlyWhenIdle true;
                                 the value "default" puts the default back
  switchyard doctor              check this machine as a gateway would; exit code 0 if all checks pass
             --json              the same for scripts
  switchyard uninstall           remove this program; its settings and keys stay
  switchyard --help              this text and every setting
  switchyard --version
`;

interface Command {
  /** Names of the positional arguments; the last `optional` of them may be omitted. */
  readonly words: readonly string[];
  readonly optional?: number;
  /** Without dashes. */
  readonly flags: readonly string[];
  run(words: readonly string[], flags: ReadonlySet<string>): void | Promise<void>;
}

const { env } = process;
const directory = () => dataDirectory(env, process.platform);

const COMMANDS: Readonly<Record<string, Command>> = {
  open: { words: [], flags: [], run: () => openLink(directory()) },
  join: {
    words: ['url', 'token'],
    flags: ['yes'],
    run: ([url = '', token = ''], flags) => runJoin(env, { url, token, yes: flags.has('yes') }),
  },
  pause: { words: [], flags: [], run: () => sendModeCommand(directory(), 'paused') },
  drain: { words: [], flags: [], run: () => sendModeCommand(directory(), 'drained') },
  resume: { words: [], flags: [], run: () => sendModeCommand(directory(), 'on') },
  get: {
    words: ['path'],
    optional: 1,
    flags: [],
    run: ([path = null]) => getSettings(directory(), path),
  },
  set: {
    words: ['path', 'value'],
    flags: [],
    run: ([path = '', value = '']) => setSetting(directory(), path, value),
  },
  uninstall: { words: [], flags: [], run: () => runUninstall(directory()) },
  doctor: {
    words: [],
    flags: ['json'],
    run: (_words, flags) => runDoctor(env, flags.has('json')),
  },
};

const help = () => `${USAGE}\n${createSettingsHelp()}`;

const TEXTS: Readonly<Record<string, () => string>> = {
  '--help': help,
  '-h': help,
  '--version': () => `${VERSION}\n`,
};

/** Sets the exit code on failure: 1 if a command fails, 2 for wrong arguments. */
export async function runCli(args: readonly string[]): Promise<void> {
  const [name = '', ...rest] = args;
  if (name === '') await runHeadless(env);
  else if (Object.hasOwn(COMMANDS, name)) await runCommand(name, rest);
  else if (!Object.hasOwn(TEXTS, name)) fail(`Unknown command "${name}".`);
  else if (rest.length > 0) fail(`Unexpected "${rest.join(' ')}": "${name}" takes no arguments.`);
  else print(TEXTS[name]?.() ?? '');
}

async function runCommand(name: string, args: readonly string[]): Promise<void> {
  const command = COMMANDS[name];
  if (command === undefined) return;
  const read = readArguments(command, args);
  if (read.kind === 'bad') fail(read.message);
  else if (read.flags.has('help')) print(USAGE);
  else {
    const { length } = command.words;
    const minimum = length - (command.optional ?? 0);
    const { words } = read;
    const names = command.words.map((word) => `<${word}>`).join(' ');
    if (words.length > length) {
      const takes = length === 0 ? 'no arguments' : names;
      fail(`Unexpected "${words.slice(length).join(' ')}": "${name}" takes ${takes}.`);
    } else if (words.length < minimum) fail(`"${name}" needs ${names}.`);
    else await inUsableDirectory(directory(), () => command.run(words, read.flags));
  }
}

type ReadArguments =
  | {
      readonly kind: 'read';
      readonly words: readonly string[];
      readonly flags: ReadonlySet<string>;
    }
  | { readonly kind: 'bad'; readonly message: string };

function readArguments(command: Command, args: readonly string[]): ReadArguments {
  const flags = Object.fromEntries(
    command.flags.map((flag) => [flag, { type: 'boolean' }] as const),
  );
  try {
    const { positionals, values } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { ...flags, help: { type: 'boolean', short: 'h' } },
    });
    return { kind: 'read', words: positionals, flags: new Set(Object.keys(values)) };
  } catch (error) {
    return { kind: 'bad', message: error instanceof Error ? error.message : String(error) };
  }
}

function print(text: string): void {
  process.stdout.write(text);
}

function fail(message: string): void {
  process.stderr.write(`${message}\n\n${USAGE}`);
  process.exitCode = 2;
}
