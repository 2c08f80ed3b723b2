import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ENTRIES } from '../../main/config/schema.ts';
import { VERSION } from '../../main/platform/process.ts';
import { openerOf } from '../../main/cli/open.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { sayHere } from '../support/owned-gateway.ts';

test.each<[args: readonly string[], message: string]>([
  [['statsu'], "unknown command 'statsu'\n(Did you mean status?)"],
  [['--verison'], "unknown option '--verison'\n(Did you mean --version?)"],
  [['open', 'now'], "too many arguments for 'open'"],
  [['set', 'agent.host'], "missing required argument 'value'"],
  [['keys', 'ad'], 'Allowed choices are list, add, limit, revoke.'],
  [['help', 'statsu'], "unknown command 'statsu'\n(Did you mean status?)"],
  [['logs', '-x'], "unknown option '-x'"],
  [['logs', '-n'], "option '-n, --lines <count>' argument missing"],
  [['machines', 'remove'], 'Name one machine by its id'],
])('the command line %j is refused with code 2, and nothing is touched', async (args, message) => {
  const directory = join(temporaryDirectory(), 'data');
  const { code, stdout, stderr } = await sayHere({ DATA_DIR: directory }, ...args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(message);
  expect(existsSync(directory)).toBe(false);
});

test('the command "help settings" prints every setting, and starts nothing', async () => {
  const directory = join(temporaryDirectory(), 'data');
  const { code, stdout } = await sayHere({ DATA_DIR: directory }, 'help', 'settings');
  expect([code, existsSync(directory)]).toEqual([0, false]);
  for (const { variable } of ENTRIES) expect(stdout).toContain(`${variable} `);
});

test.each(['--version', '-v'])('the option "%s" prints the version alone', async (option) => {
  const directory = join(temporaryDirectory(), 'data');
  const said = await sayHere({ DATA_DIR: directory }, option);
  expect(said).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
  expect(existsSync(directory)).toBe(false);
});

test.each([
  ['--help'],
  ['-h'],
  ['help'],
  ['status', '--help'],
  ['status', '-h'],
  ['help', 'status'],
])('the command line "%s %s" prints help and starts nothing', async (...args) => {
  const directory = join(temporaryDirectory(), 'data');
  const { code, stdout, stderr } = await sayHere({ DATA_DIR: directory }, ...args);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('Print which sources can serve, and the state of this machine.');
  expect(existsSync(directory)).toBe(false);
});

test.each([
  ['status'],
  ['models'],
  ['reset', 'local'],
  ['pause'],
  ['drain'],
  ['resume'],
  ['open'],
  ['get'],
  ['set', 'agent.onlyWhenIdle', 'true'],
])(
  'the command "%s" ends with code 3 and one sentence if nothing runs, and writes nothing',
  async (...args) => {
    const directory = temporaryDirectory();
    const { code, stdout, stderr } = await sayHere({ DATA_DIR: directory }, ...args);
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toMatch(
      /^No gateway is running with the data directory .+"inglenook start".+\n$/,
    );
    expect(readdirSync(directory)).toEqual([]);
  },
);

test.each<[NodeJS.Platform, Record<string, string>, string | undefined]>([
  ['darwin', {}, 'open'],
  ['win32', {}, 'rundll32'],
  ['linux', { DISPLAY: ':0' }, 'xdg-open'],
  ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, 'xdg-open'],
  ['linux', {}, undefined],
])('the browser on %s with %j is opened by %s', (platform, env, command) => {
  expect(openerOf(platform, env)?.[0]).toBe(command);
});
