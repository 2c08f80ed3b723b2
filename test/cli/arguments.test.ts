import { expect, test } from 'vitest';
import { didYouMean, nearest, readArguments } from '../../main/cli/arguments.ts';
import { optionsOf, synopsis } from '../../main/cli/command.ts';
import { commandHelp, generalHelp, COMMANDS } from '../../main/cli/table.ts';

function commandNamed(name: string) {
  const command = COMMANDS.find((each) => each.name === name);
  if (command === undefined) throw new Error(`no command ${name}`);
  return command;
}

test.each([
  ['statsu', 'status'],
  ['stauts', 'status'],
  ['opne', 'open'],
  ['pasue', 'pause'],
  ['stat', 'status'],
  ['lgs', 'logs'],
])('the mistyped %s is nearest to %s', (word, meant) => {
  expect(
    nearest(
      word,
      COMMANDS.map(({ name }) => name),
    ),
  ).toBe(meant);
});

test.each(['deploy', 'x', 'zzzzzz', '-', 'hat!', 'sta'])(
  'the word %s gets no suggestion',
  (word) => {
    const names = COMMANDS.map(({ name }) => name);
    expect(didYouMean(word, names)).toBe('');
  },
);

test.each([
  ['get', ['a', 'b'], 'Unexpected "b": "get" takes [path].'],
  ['set', ['agent.host'], '"set" needs <path> <value>.'],
  ['pause', ['now'], 'Unexpected "now": "pause" takes no arguments.'],
  ['doctor', ['--jsn'], '"doctor" has no option "--jsn". Did you mean "--json"?'],
  ['logs', ['-x'], '"logs" has no option "-x".'],
  ['logs', ['-n'], '"-n" needs a value: -n <count>.'],
  ['logs', ['--lines', '--json'], '"--lines" needs a value: --lines <count>.'],
  ['status', ['--json=1'], '"--json" takes no value.'],
  ['keys', ['ad'], '"keys" takes list, add, limit, revoke, but not "ad". Did you mean "add"?'],
] as const)('the command line "%s %j" is refused with: %s', (name, args, message) => {
  expect(readArguments(commandNamed(name), args)).toEqual({ kind: 'bad', message });
});

test('options may stand before, between and after the words, and "--" ends them', () => {
  const set = commandNamed('set');
  expect(readArguments(set, ['--json', 'a', '--', '--b'])).toEqual({
    kind: 'read',
    words: ['a', '--b'],
    options: { json: true },
  });
});

test('help for a command is given whatever else the line lacks', () => {
  expect(readArguments(commandNamed('set'), ['-h'])).toMatchObject({ options: { help: true } });
});

test('every command is in the general help, with its arguments and its sentence', () => {
  const help = generalHelp(COMMANDS, '1.2.3');
  for (const command of COMMANDS) {
    const line = help.split('\n').find((each) => each.startsWith(`  ${synopsis(command)} `));
    expect(line).toContain(command.summary);
  }
});

test.each(COMMANDS.map((command) => [command.name, command] as const))(
  'the help of "%s" explains each option',
  (_name, command) => {
    const help = commandHelp(command);
    for (const { name, summary } of optionsOf(command)) {
      expect(help).toContain(`--${name}`);
      expect(help).toContain(summary);
    }
    expect(command.summary).toMatch(/^[A-Z].*\.$/);
  },
);

test('every command that answers with data has --json', () => {
  const without = COMMANDS.filter((each) => optionsOf(each).every(({ name }) => name !== 'json'));
  expect(without.map(({ name }) => name)).toEqual(['start', 'help']);
});

test('names and options of commands are unique, and arguments that may be left out come last', () => {
  const names = COMMANDS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const command of COMMANDS) {
    const options = optionsOf(command).flatMap(({ name, short }) => [name, short ?? name]);
    const shorts = optionsOf(command).flatMap(({ short }) => (short === undefined ? [] : [short]));
    expect(new Set(options).size).toBe(optionsOf(command).length + shorts.length);
    const needs = (command.arguments ?? []).map(({ isOptional }) => !isOptional);
    expect(needs).toEqual(needs.toSorted((one, other) => Number(other) - Number(one)));
  }
});
