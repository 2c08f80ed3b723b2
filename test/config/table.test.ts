import { homedir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { dataDirectory } from '../../main/config/data-directory.ts';
import { createSettingsHelp, type LoadedConfig } from '../../main/config/load.ts';
import { ENTRIES, valueAt } from '../../main/config/schema.ts';
import { loadedOf } from '../support/config.ts';

/** Values by variable. */
const byVariable = ({ config }: LoadedConfig): Record<string, unknown> =>
  Object.fromEntries(ENTRIES.map((entry) => [entry.variable, valueAt(config, entry)]));

/** That they are those of the documentation is held by the tests of its pages. */
const DEFAULTS = Object.fromEntries(
  ENTRIES.map(({ variable, setting }) => [variable, setting.fallback]),
);

test('every setting has its default, without a warning, if nothing is set', () => {
  const loaded = loadedOf({});
  expect(byVariable(loaded)).toEqual(DEFAULTS);
  expect(new Set(loaded.sources.values())).toEqual(new Set(['default']));
  expect([loaded.sources.size, loaded.warnings]).toEqual([ENTRIES.length, []]);
});

test.each(['', '  '])('an empty or blank variable counts as unset (%j)', (text) => {
  const blank = Object.fromEntries(ENTRIES.map(({ variable }) => [variable, text]));
  expect(byVariable(loadedOf(blank))).toEqual(DEFAULTS);
});

test('the help lists every setting with its path, its variable, its default, what it does and what is allowed', () => {
  const lines = createSettingsHelp().split('\n');
  for (const { path, variable, setting } of ENTRIES) {
    const { fallback, meaning, kind } = setting;
    const at = lines.findIndex((line) => line.startsWith(`${path} `));
    const isNone = ['null', '[]', '{}'].includes(JSON.stringify(fallback));
    const shown = isNone ? 'none' : String(fallback);
    expect(lines[at]?.split(/ {2,}/)).toEqual([path, variable, shown]);
    expect(lines.slice(at + 1, at + 3)).toEqual([`  ${meaning}`, `  Allowed: ${kind.allowed}.`]);
  }
  expect(lines.filter((line) => line.includes('INGLENOOK_DATA_DIR'))).toHaveLength(1);
});

const ROAMING = join(homedir(), 'AppData', 'Roaming', 'Inglenook');
const OF_HOME = join(homedir(), '.local', 'share', 'inglenook');

test.each<[name: string, NodeJS.Platform, env: Record<string, string>, directory: string]>([
  ['macOS', 'darwin', {}, join(homedir(), 'Library', 'Application Support', 'Inglenook')],
  ['Windows', 'win32', { APPDATA: '/roaming' }, join('/roaming', 'Inglenook')],
  ['Windows without APPDATA', 'win32', {}, ROAMING],
  ['Windows with an empty APPDATA', 'win32', { APPDATA: '' }, ROAMING],
  ['Linux', 'linux', {}, OF_HOME],
  ['Linux with XDG_DATA_HOME', 'linux', { XDG_DATA_HOME: '/xdg' }, '/xdg/inglenook'],
  ['Linux with an empty XDG_DATA_HOME', 'linux', { XDG_DATA_HOME: '' }, OF_HOME],
  ['the variable', 'linux', { INGLENOOK_DATA_DIR: '/mine', XDG_DATA_HOME: '/xdg' }, '/mine'],
  ['the variable on macOS', 'darwin', { INGLENOOK_DATA_DIR: '/mine' }, '/mine'],
  ['a relative variable', 'linux', { INGLENOOK_DATA_DIR: 'here' }, resolve('here')],
  ['a blank variable', 'linux', { INGLENOOK_DATA_DIR: ' ' }, OF_HOME],
])('the data directory by %s is the one documented', (_title, platform, env, directory) => {
  expect(dataDirectory(env, platform)).toBe(directory);
});

test.runIf(process.platform !== 'win32').each<NodeJS.Platform>(['linux', 'darwin'])(
  'an empty HOME is as good as unset: the data directory stays in the home of the user (%s)',
  (platform) => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('HOME', '');
    expect(dataDirectory({}, platform).startsWith(`${userInfo().homedir}/`)).toBe(true);
  },
);
