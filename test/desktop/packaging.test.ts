import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startAction } from '../../main/desktop/command-line.ts';

const ROOT = join(import.meta.dirname, '../..');

interface Configuration {
  readonly mac: { readonly target: unknown };
  readonly win: { readonly target: unknown };
  readonly linux: {
    readonly target: unknown;
    readonly executableName: string;
    readonly desktop: {
      readonly desktopActions: Readonly<Record<string, { readonly Exec: string }>>;
    };
  };
}

interface Builder {
  getConfig(root: string, file: string, more: null): Promise<Configuration>;
}

/** electron-builder's own reader, by way of electron-builder, whose private package it is. */
function loadBuilder(): Builder {
  const ours = createRequire(import.meta.url);
  const theirs = createRequire(ours.resolve('electron-builder/package.json'));
  // Its types are not exported; the function is declared above as it is used.
  return theirs('app-builder-lib/out/util/config/config.js') as Builder;
}

const { mac, win, linux } = await loadBuilder().getConfig(ROOT, 'electron-builder.yml', null);

test('electron-builder.yml builds for all three systems, with the zip that macOS updates need', () => {
  expect([mac.target, win.target]).toEqual([['dmg', 'zip'], ['nsis']]);
  const arch = ['x64', 'arm64'];
  expect(linux.target).toEqual(['deb', 'rpm'].map((target) => ({ target, arch })));
});

test('the desktop entry’s actions are those that the app answers, by its installed program', () => {
  const actions = Object.entries(linux.desktop.desktopActions);
  expect(actions.map(([name]) => name)).toEqual(['settings', 'quit']);
  for (const [name, { Exec }] of actions) {
    const [program, ...words] = Exec.split(' ');
    expect(program).toBe(`/opt/Inglenook/${linux.executableName}`);
    expect(startAction(words)).toBe(name);
  }
});

const folder = join(ROOT, 'main/desktop');
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));

test('the shell knows Electron by type only, so that it runs against a stand-in', () => {
  const importers = sources.filter(({ text }) => /^import (?!type ).*'electron'/m.test(text));
  expect(importers.map(({ name }) => name)).toEqual([]);
});

test('the shell lets Electron become ready: its entry awaits nothing at module scope', () => {
  const entry = readFileSync(join(ROOT, 'main/electron.ts'), 'utf8');
  expect(entry).not.toMatch(/^(const .*= )?await\b/m);
});

test('the shell switches off no protection of the page', () => {
  const loose =
    /(webSecurity|contextIsolation|sandbox): false|nodeIntegration\w*: true|allowRunningInsecureContent: true|webviewTag: true|executeJavaScript/;
  expect(sources.filter(({ text }) => loose.test(text)).map(({ name }) => name)).toEqual([]);
});

test('npm run dist writes the bill of materials and the licences before it packs them', () => {
  const manifest = readFileSync(join(ROOT, 'package.json'), 'utf8');
  expect(manifest).toMatch(/"dist": ".*npm run licences && node scripts\/dist\.mjs"/);
});

const plan = (platform: string, env: Record<string, string> = {}) =>
  execFileSync(process.execPath, [join(ROOT, 'scripts/dist.mjs'), '--plan', platform], {
    env,
    encoding: 'utf8',
  });

test.each([
  ['darwin', /Signed ad hoc: it opens after[\s\S]*Not notarised: set APPLE_API_KEY \(the path/],
  ['win32', /Not signed: set AZURE_SIGNING_ENDPOINT/],
  ['linux', /name no real page: set INGLENOOK_HOMEPAGE[^]*No rpm package[^]*--linux deb\n$/],
])('npm run dist on %s says what is missing, and continues', (platform, words) => {
  expect(plan(platform)).toMatch(words);
  expect(plan(platform)).toMatch(/No updates: set INGLENOOK_UPDATE_URL/);
  expect(plan(platform)).toContain('electron-builder --publish never');
});

const INGLENOOK_UPDATE_URL = 'https://updates.example/inglenook';
const FEED = `-c.publish.provider=generic -c.publish.url=${INGLENOOK_UPDATE_URL}\n`;

test('npm run dist signs for macOS ad hoc without a certificate, which has no updates', () => {
  const said = plan('darwin', { INGLENOOK_UPDATE_URL });
  expect(said).toMatch(/electron-builder --publish never -c\.mac\.identity=-\n$/);
  const signed = plan('darwin', { INGLENOOK_UPDATE_URL, CSC_LINK: 'key.p12' });
  expect(signed).toMatch(new RegExp(`electron-builder --publish never ${FEED}$`));
});

test('npm run dist signs for Windows by Azure', () => {
  const names = ['ENDPOINT', 'ACCOUNT', 'PROFILE', 'PUBLISHER'];
  const env = Object.fromEntries(names.map((name) => [`AZURE_SIGNING_${name}`, `the-${name}`]));
  const said = plan('win32', { ...env, INGLENOOK_UPDATE_URL });
  expect(said).toContain('-c.win.azureSignOptions.endpoint=the-ENDPOINT ');
  expect(said).toContain('-c.win.azureSignOptions.publisherName=the-PUBLISHER ');
  expect(said.endsWith(FEED)).toBe(true);
});
