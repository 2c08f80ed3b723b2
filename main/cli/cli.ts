import { VERSION } from '../app/version.ts';
import { dataDirectory, inUsableDirectory } from '../config/data-directory.ts';
import { createSettingsHelp } from '../config/load.ts';
import { openLink, sendModeCommand } from './commands.ts';
import { runDoctor } from './doctor.ts';
import { runJoin } from './join.ts';
import { runHeadless } from './serve.ts';
import { getSettings, setSetting } from './settings.ts';

const USAGE = `switchyard ${VERSION}: an LLM gateway over your own GPUs and your hosted fallbacks

  switchyard                     run the gateway with its window in a browser
  switchyard open                print a new link that gives a browser control
  switchyard join <url> <token>  let another gateway use this machine; its window shows the line
             --yes               go on over plain HTTP without asking
  switchyard pause               take no requests on this machine, and end those that run
  switchyard drain               take no new requests on this machine; those that run may finish
  switchyard resume              take requests again, whatever rule holds this machine back now
  switchyard get [path]          print the settings, those of a section, or one
  switchyard set <path> <value>  change one while Switchyard runs, as in: set agent.onlyWhenIdle true;
                                 the value "default" puts the default back
  switchyard doctor              check this machine as a gateway would; exit code 0 when all is well
             --json              the same for scripts
  switchyard --help              this text and every setting
  switchyard --version
`;

interface Command {
  /** Words that it takes, by what they are; only the last `optional` of them may be left out. */
  readonly words: readonly string[];
  readonly optional?: number;
  readonly flags: readonly string[];
  run(words: readonly string[], flags: readonly string[]): void | Promise<void>;
}

const { env } = process;
const directory = () => dataDirectory(env, process.platform);

const COMMANDS: Readonly<Record<string, Command>> = {
  open: { words: [], flags: [], run: () => openLink(directory()) },
  join: {
    words: ['url', 'token'],
    flags: ['--yes'],
    run: ([url = '', token = ''], flags) => runJoin(env, { url, token, yes: flags.length > 0 }),
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
  doctor: {
    words: [],
    flags: ['--json'],
    run: (_words, flags) => runDoctor(env, flags.length > 0),
  },
  '--version': { words: [], flags: [], run: () => print(`${VERSION}\n`) },
  '--help': { words: [], flags: [], run: () => print(`${USAGE}\n${createSettingsHelp()}`) },
};

/** Runs the command line; the process ends with what it sets as exit code. */
export async function runCli(args: readonly string[]): Promise<void> {
  const [name, ...rest] = args;
  if (name === undefined) {
    await runHeadless(env);
    return;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    fail(`"${name}" is no command of switchyard.`);
    return;
  }
  const flags = rest.filter((word) => command.flags.includes(word));
  const words = rest.filter((word) => !command.flags.includes(word));
  const { length } = command.words;
  if (words.length > length) {
    const takes = length === 0 ? 'nothing' : `${length} word${length === 1 ? '' : 's'}`;
    fail(`"${words.slice(length).join(' ')}" is too much: "${name}" takes ${takes}.`);
  } else if (words.length < length - (command.optional ?? 0)) {
    fail(`"${name}" needs ${command.words.map((word) => `<${word}>`).join(' ')}.`);
  } else {
    await inUsableDirectory(directory(), () => command.run(words, flags));
  }
}

function print(text: string): void {
  process.stdout.write(text);
}

function fail(message: string): void {
  process.stderr.write(`${message}\n\n${USAGE}`);
  process.exitCode = 2;
}
