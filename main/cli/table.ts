import { VERSION } from '../platform/process.ts';
import { createSettingsHelp } from '../config/load.ts';
import { models } from './models.ts';
import {
  answer,
  type Command,
  type CommandOutcome,
  EXIT,
  failed,
  EXIT_MEANINGS,
  type Option,
  optionsOf,
  optionText,
  synopsis,
} from './command.ts';
import { changeModel, free, leave, reset, setMode } from './owner-commands.ts';
import { doctor } from './doctor.ts';
import { KEY_ACTIONS, KEY_LIMIT_OPTIONS, keys } from './keys.ts';
import { logs } from './logs.ts';
import { openWindow } from './open.ts';
import { ACTIONS, runUninstall, service } from './service/service.ts';
import { getSettings, setSetting } from './settings.ts';
import { status } from './status.ts';
import { didYouMean } from './arguments.ts';

/** The larger parts of the program are imported only when a command needs them. */
export const COMMANDS: readonly Command[] = [
  {
    name: 'start',
    summary: 'Run the gateway in this terminal, until a signal stops it.',
    details:
      'It also serves the dashboard; "inglenook open" opens it. When the gateway stops, running requests may finish.',
    isText: true,
    run: async (input) => (await import('./serve.ts')).start(input),
  },
  {
    name: 'status',
    summary: 'Print which upstreams can serve, and the state of this machine.',
    details: 'Exit code 1 if the gateway runs but nothing can serve.',
    run: status,
  },
  {
    name: 'open',
    summary: 'Open the dashboard in your browser, signed in.',
    details: 'Prints a sign-in link that works once and expires in 10 minutes.',
    options: [{ name: 'print', summary: 'Only print the link.' }],
    run: openWindow,
  },
  {
    name: 'models',
    summary: 'List the models that apps can ask for.',
    run: models,
  },
  {
    name: 'logs',
    summary: 'Print the end of the log.',
    options: [
      { name: 'follow', short: 'f', summary: 'Keep printing new lines as they are written.' },
      {
        name: 'lines',
        short: 'n',
        value: 'count',
        summary: 'How many lines to start with; 50 by default.',
      },
    ],
    run: logs,
  },
  {
    name: 'get',
    summary: 'Print all settings, one section, or one setting.',
    arguments: [{ name: 'path', isOptional: true }],
    run: getSettings,
  },
  {
    name: 'set',
    summary: 'Change a setting, as in: set agent.onlyWhenIdle true.',
    details: 'The value "default" restores the default.',
    arguments: [{ name: 'path' }, { name: 'value' }],
    run: setSetting,
  },
  {
    name: 'keys',
    summary: 'List, create, limit or revoke keys for apps, as in: keys add laptop.',
    details:
      'A new key is printed once. As soon as there is one, every app needs a key. Set limits with "add" or "limit".',
    arguments: [
      { name: 'action', choices: KEY_ACTIONS },
      { name: 'name', isOptional: true },
    ],
    options: KEY_LIMIT_OPTIONS,
    run: keys,
  },
  {
    name: 'reset',
    summary: 'Close the circuit of an upstream or a machine, so that it is called again.',
    arguments: [{ name: 'id' }],
    run: reset,
  },
  {
    name: 'join',
    summary:
      'Join another gateway, so that it can use this GPU. Copy the full command from “Add a machine” there.',
    details: 'Separate the addresses of several gateways of one pool with commas.',
    arguments: [{ name: 'url' }, { name: 'token' }],
    options: [{ name: 'yes', summary: 'Continue over plain HTTP without asking.' }],
    run: async (input) => (await import('./join.ts')).runJoin(input),
  },
  {
    name: 'leave',
    summary: 'Leave the gateway that this machine has joined.',
    run: leave,
  },
  {
    name: 'pause',
    summary: 'Take no requests on this machine, and end running ones.',
    run: (input) => setMode(input, 'paused'),
  },
  {
    name: 'drain',
    summary: 'Take no new requests on this machine; running ones may finish.',
    run: (input) => setMode(input, 'drained'),
  },
  {
    name: 'resume',
    summary: 'Take requests again, even if a rule pauses this machine. Also ends "free".',
    run: (input) => setMode(input, 'on'),
  },
  {
    name: 'free',
    summary: 'Unload all models, so that other programs can use the GPU.',
    details:
      'Other upstreams answer meanwhile. It ends with "resume", or after the time given with --for; the same models are then loaded again before requests return. Running requests have 30 s to finish. Exit code 1 if a model stays in memory.',
    options: [
      {
        name: 'for',
        value: 'time',
        summary: 'How long, such as 2h, 90m or 1h30m. Without it: until "resume".',
      },
    ],
    run: free,
  },
  {
    name: 'load',
    summary: 'Load a model on this machine as soon as no request runs.',
    arguments: [{ name: 'model' }],
    run: (input) => changeModel(input, 'load'),
  },
  {
    name: 'unload',
    summary: 'Unload a model on this machine as soon as no request runs.',
    details: 'The next request for it loads it again; "free" keeps requests away.',
    arguments: [{ name: 'model' }],
    run: (input) => changeModel(input, 'unload'),
  },
  {
    name: 'doctor',
    summary: 'Print how this machine was verified, and the problems of its agent.',
    details: 'Exit code 1 while it is not verified.',
    run: doctor,
  },
  {
    name: 'service',
    summary: 'Run the gateway as a service that starts automatically.',
    details:
      'systemd on Linux, launchd on macOS, a scheduled task on Windows. If you run it with npx, "install" first installs the program for your user. "status" exits with code 0 while the service is running, otherwise 1.',
    arguments: [{ name: 'action', choices: ACTIONS }],
    options: [{ name: 'print', summary: 'Only print what would be installed.' }],
    run: service,
  },
  {
    name: 'uninstall',
    summary: 'Remove this program; its settings and keys stay.',
    run: runUninstall,
  },
  {
    name: 'help',
    summary: 'Explain one command, or list all commands; "help settings" lists all settings.',
    arguments: [{ name: 'command', isOptional: true }],
    isText: true,
    run: ({ words: [name] }) => {
      if (name === 'settings') return text(createSettingsHelp());
      if (name === undefined || COMMANDS.some((each) => each.name === name)) {
        return text(helpText(name));
      }
      const message = `${unknownCommand(name, COMMANDS)}\n${SEE_HELP}`;
      return Promise.resolve(failed(message, EXIT.usage));
    },
  },
];

/** The help of a command, or the general help if there is no such command. */
export function helpText(name: string | undefined): string {
  const command = COMMANDS.find((each) => each.name === name);
  return command === undefined ? generalHelp(COMMANDS, VERSION) : commandHelp(command);
}

const text = (printed: string): Promise<CommandOutcome> => Promise.resolve(answer(null, printed));

/** The text of `--help`: all commands. */
export function generalHelp(commands: readonly Command[], version: string): string {
  const rows = commands.map((each): Row => [synopsis(each), each.summary]);
  return `inglenook ${version}: an LLM gateway for your own GPUs and hosted fallbacks

Usage: inglenook <command> [options]; without a command it starts the gateway

${columns(rows)}

  inglenook <command> --help explains one command
  inglenook help settings lists all settings
  inglenook --version prints the version

Exit codes:
${columns(Object.entries(EXIT_MEANINGS))}
`;
}

export const SEE_HELP = '"inglenook --help" lists all commands.';

export function unknownCommand(name: string, commands: readonly Command[]): string {
  const known = [...commands.map((each) => each.name), '--version'];
  return `Unknown command "${name}".${didYouMean(name, known)}`;
}

/** As in `logs [options]`. */
export const usage = (command: Command) => `inglenook ${synopsis(command)} [options]`;

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

function wrapped(sentences: string): string {
  const lines: string[] = [];
  for (const word of sentences.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= LINE_CHARS) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.join('\n');
}
