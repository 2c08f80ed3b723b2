import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig, loadSavedConfig } from '../../main/config/load.ts';
import { ENTRIES } from '../../main/config/schema.ts';
import { readSettings, setBadAside, writeSettings } from '../../main/config/settings-file.ts';
import { temporaryDirectory } from '../support/gateway.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
const ASIDE = 'settings.json.bad-2026-01-02T03-04-05.006Z';

/** A data directory whose settings file holds `text`. */
function directoryWith(text: string | Buffer, name = 'settings.json'): string {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, name), text);
  return directory;
}

/** Writes values by path, as the window does. */
function write(directory: string, values: Readonly<Record<string, unknown>>): void {
  const changes = ENTRIES.filter(({ path }) => path in values);
  writeSettings(
    directory,
    changes.map((entry) => ({ entry, value: values[entry.path] })),
  );
}

/** As at a start. */
function read(directory: string) {
  const { tree, files } = readSettings(directory);
  return { warnings: setBadAside(files, 'held', NOW), tree };
}

test('a missing settings file sets nothing and causes no warning', () => {
  const directory = temporaryDirectory();
  const none = { tree: {}, warnings: [] };
  expect([directory, join(directory, 'not-there')].map(read)).toEqual([none, none]);
});

const HELD = { routing: { forceZero: true } };

test.each<[name: string, text: string | Buffer, says: RegExp]>([
  ['empty', '', /not valid JSON/],
  ['half written', '{"circuit":{"failThreshold":7', /not valid JSON/],
  ['a list', '[]', /not an object/],
  ['in Latin-1', Buffer.from('{"local":{"model":"ü"},}', 'latin1'), /not valid JSON/],
])(
  'a settings file that is %s is set aside with a warning, and the gateway starts with defaults, but spends nothing',
  (_title, text, says) => {
    const directory = directoryWith(text);
    const { tree, warnings } = read(directory);
    expect(tree).toEqual(HELD);
    expect(warnings).toEqual([expect.stringContaining(`settings.json was set aside as ${ASIDE}`)]);
    expect(warnings[0]).toMatch(says);
    expect(readFileSync(join(directory, ASIDE))).toEqual(Buffer.from(text));
    expect(loadConfig({}, tree).kind).toBe('loaded');
    expect(read(directory)).toEqual({ tree: HELD, warnings: [] });
  },
);

test.each<[name: string, bad: Record<string, object>, says: RegExp]>([
  ['out of range', { circuit: { failThreshold: 0 } }, /^circuit\.failThreshold in .* 1 to/],
  ['a number as text', { circuit: { failThreshold: '7' } }, /^circuit\.failThreshold in /],
  ['no word of the list', { routing: { hedge: 'some' } }, /^routing\.hedge in .* one of own/],
  ['a flag as text', { agent: { enabled: 'true' } }, /^agent\.enabled in .* true or false/],
])('a value that is %s is set aside alone, and all others stay in force', (_title, bad, says) => {
  const good: Record<string, object> = {
    circuit: { cooldownMs: 7 },
    routing: { forceZero: true },
    agent: { notOnBattery: true },
    newer: { a: 1 },
  };
  const both = Object.entries(good).map(([name, keys]) => [name, { ...keys, ...bad[name] }]);
  const directory = directoryWith(JSON.stringify(Object.fromEntries(both)));
  const { tree, warnings } = read(directory);
  expect(tree).toEqual(good);
  expect(warnings).toEqual([expect.stringMatching(says)]);
  expect(warnings[0]).toContain(` in settings.json was set aside as ${ASIDE}`);
  expect(JSON.parse(readFileSync(join(directory, ASIDE), 'utf8'))).toEqual(bad);
  expect(read(directory)).toEqual({ tree: good, warnings: [] });
});

test.each([
  [{ circuit: 5 }, {}],
  [{ hosted_a: { budgetDay: '5' } }, { hosted_a: {}, ...HELD }],
  [{ routing: { forceZero: 'yes' } }, HELD],
  [{ routing: [] }, HELD],
])(
  'a limit of spending that cannot be read lets nothing be spent: %j counts as %j',
  (bad, good) => {
    const directory = directoryWith(JSON.stringify(bad));
    const { tree, warnings } = read(directory);
    expect(tree).toEqual(good);
    expect(warnings.join().endsWith('; held')).toBe('routing' in good);
    expect(JSON.parse(readFileSync(join(directory, ASIDE), 'utf8'))).toEqual(bad);
  },
);

test('a warning says truly whether money is spent, and waits for a start that is not refused', () => {
  const bad = '{"hosted_a":{"budgetDay":"5"}}';
  const directory = directoryWith(bad);
  const start = (env: Record<string, string>) => {
    const loaded = loadSavedConfig(env, directory);
    return loaded.kind === 'loaded' ? loaded.warnings.join() : loaded.kind;
  };
  expect(start({ INGLENOOK_PORT: 'x' })).toBe('refused');
  expect(start({})).toMatch(/“Never spend money” is on until you switch it off$/);
  writeFileSync(join(directory, 'settings.json'), bad);
  expect(start({ INGLENOOK_FORCE_ZERO: 'false' })).toMatch(/INGLENOOK_FORCE_ZERO decides/);
});

test('the warning about a bad settings file does not quote it', () => {
  const secret = 'hunter2-hunter2-hunter2';
  for (const text of [
    `{"hosted_a":{"apiKey":"${secret}"`,
    `{"hosted_a":{"apiKey":"${secret} "}}`,
    `{"hosted_a":{"baseUrl":"ftp://u:${secret}@h"}}`,
  ]) {
    const { warnings } = read(directoryWith(text));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).not.toContain('hunter2');
  }
});

test('a bad file of secrets is set aside alone, and settings and secrets are read as one', () => {
  const directory = directoryWith('{"hosted_a":{"model":"m"}}');
  writeFileSync(join(directory, 'secrets.json'), '{"hosted_a":{"apiKey":"k"}}');
  expect(read(directory).tree).toEqual({ hosted_a: { model: 'm', apiKey: 'k' } });
  writeFileSync(join(directory, 'secrets.json'), 'no');
  expect(read(directory)).toEqual({
    tree: { hosted_a: { model: 'm' } },
    warnings: [expect.stringMatching(/^secrets\.json was set aside as secrets/)],
  });
});

test('a settings file with a byte order mark, as Windows writes it, is read', () => {
  const { tree, warnings } = read(directoryWith('\uFEFF{"circuit":{"failThreshold":7}}'));
  expect([tree, warnings]).toEqual([{ circuit: { failThreshold: 7 } }, []]);
});

test('a setting of a newer version does not set a file aside', () => {
  const text = '{"circuit":{"newKey":"x"},"newSection":{"a":1},"routing":{"hedge":null}}';
  expect(read(directoryWith(text)).warnings).toEqual([]);
});

test('a write over a settings file that was broken meanwhile is refused and loses nothing', () => {
  const broken = '{"circuit":{"failThreshold":7,}}';
  const directory = directoryWith(broken);
  expect(() => write(directory, { 'ondemand.warmup': false })).toThrow(/settings\.json.*not valid/);
  expect(readFileSync(join(directory, 'settings.json'), 'utf8')).toBe(broken);
});
