import { type ChildProcess, execFileSync, fork, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { extractAll } from '@electron/asar';
import { Arch, build, Platform } from 'electron-builder';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { startByteServer } from '../support/byte-server.ts';
import { controlOf, redeem } from '../support/control.ts';
import { bearer, postJson } from '../support/http.ts';
import { FUSES, linuxElectron, MAC_FRAMEWORK, macElectron, put } from './electron-distributions.ts';

// What electron-builder makes of the app for Linux and macOS. Electron itself is a stand-in with its fuses alone; packages
// are made by tools that have to be downloaded, so only what they are given is looked at.

const ROOT = join(import.meta.dirname, '../..');
const run = (...args: string[]) => execFileSync(process.execPath, args, { cwd: ROOT });

const made: string[] = [];
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

function temporaryDirectory(): string {
  const folder = mkdtempSync(join(tmpdir(), 'inglenook-packed-'));
  made.push(folder);
  return folder;
}

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => statSync(join(folder, name)).isFile());

/** Packs for both systems in one run. */
async function pack() {
  const output = temporaryDirectory();
  const icon = join(put(temporaryDirectory(), { 'app.icns': '' }), 'app.icns');
  const electrons = {
    linux: linuxElectron(temporaryDirectory()),
    darwin: macElectron(temporaryDirectory()),
  };
  const computed: unknown[] = [];
  await build({
    projectDir: ROOT,
    targets: new Map([
      ...Platform.LINUX.createTarget(['deb'], Arch.x64),
      ...Platform.MAC.createTarget(['dir'], Arch.arm64),
    ]),
    config: {
      extends: 'electron-builder.yml',
      directories: { output },
      mac: { icon, identity: null },
      // Else it would be that of macOS.
      linux: { icon: 'dist/desktop/icons/app.png' },
      electronDist: ({ platformName }) =>
        platformName === 'darwin' ? electrons.darwin : electrons.linux,
    },
    effectiveOptionComputed: (options) => Promise.resolve(computed.push(options) > 0),
  });
  const folder = join(output, 'linux-unpacked');
  // Inside the checkout no package could be missing unseen.
  const app = join(temporaryDirectory(), 'app');
  extractAll(join(folder, 'resources/app.asar'), app);
  /** What the tool gets that makes the package. */
  const [[deb]] = computed as [readonly [readonly string[], string]];
  return { folder, app, deb, mac: join(output, 'mac-arm64/Inglenook.app') };
}

let packed: Awaited<ReturnType<typeof pack>>;
beforeAll(async () => {
  run('scripts/setup.mjs', 'window', 'package', 'desktop');
  run('scripts/licences.ts');
  packed = await pack();
});

/** What "debug", "pg" and "systeminformation" do without where it is missing. */
const OPTIONAL = [
  'supports-color',
  'pg-native',
  'osx-temperature-sensor',
  'macos-temperature-sensor',
];

// The last two are those of argparse and sax.
const PERMISSIVE =
  'MIT ISC BSD-2-Clause BSD-3-Clause Apache-2.0 0BSD Python-2.0 BlueOak-1.0.0'.split(' ');

const billSchema = z.object({
  bomFormat: z.literal('CycloneDX'),
  metadata: z.object({ component: z.object({ name: z.literal('inglenook') }) }),
  components: z.array(
    z.object({
      'bom-ref': z.string(),
      purl: z.string(),
      hashes: z.array(z.object({ alg: z.string() })).min(1),
      licenses: z.array(z.object({ license: z.object({ id: z.string() }) })).min(1),
    }),
  ),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

/** The program's files in the packed app. */
function scriptsIn() {
  const folder = join(packed.app, 'dist/desktop');
  const names = filesIn(folder).filter((name) => name.endsWith('.js'));
  return names.map((name) => ({ name, code: readFileSync(join(folder, name), 'utf8') }));
}

test('the packed app has our bundles, the packages that run, one file of SQLite’s, and nothing else', () => {
  const files = filesIn(packed.app);
  const own = files.filter((name) => !name.startsWith('node_modules/'));
  const folders = new Set(own.map((name) => name.split('/').slice(0, -1).join('/')));
  expect([...folders].toSorted()).toEqual([
    '',
    'dist/desktop',
    'dist/desktop/icons',
    'dist/node',
    'dist/window',
    'dist/window/assets',
  ]);
  expect(own.filter((name) => !name.includes('/'))).toEqual(['package.json']);
  const native = files.filter((name) => name.endsWith('.node'));
  expect(native).toEqual(['node_modules/better-sqlite3/prebuilds/linux-x64.node']);
  const ballast = /\.(map|[cm]?ts|tsx|flow|c|cc|cpp|h|hpp|gypi?)$|(^|\/)(tests?|docs|examples)\//;
  expect(files.filter((name) => ballast.test(name))).toEqual([]);
  expect(files.filter((name) => /node_modules\/.*\.md$/.test(name))).toEqual([]);
  expect(readdirSync(join(packed.app, 'node_modules'))).toEqual(['better-sqlite3']);
});

test('the packed app has no file that imports from node:http, for which Node would load undici at each start', () => {
  expect(scriptsIn().filter(({ code }) => /^import .*"node:http"/m.test(code))).toEqual([]);
});

test.each([
  ['database-thread', 'better-sqlite3'],
  ['systeminformation-helper', 'systeminformation'],
])(
  'the packed app has %s besides its starter, and that knows nothing of Electron',
  (thread, its) => {
    const found = scriptsIn().find(({ name }) => name === `${thread}.js`);
    expect(found?.code).toContain(its);
    expect(found?.code).not.toMatch(/['"]electron['"]/);
    const starters = scriptsIn().filter(({ code }) => code.includes(`${thread}$`));
    expect(starters.length).toBeGreaterThan(0);
    expect(starters.filter(({ name }) => name.includes('/'))).toEqual([]);
  },
);

test('the packed app has a helper that answers as a process of its own', () => {
  const helper = join(packed.app, 'dist/desktop/systeminformation-helper.js');
  const done = spawnSync(process.execPath, [helper, 'machine'], { encoding: 'utf8' });
  expect(done.stderr).toBe('');
  expect(JSON.parse(done.stdout)).toHaveProperty('machine.manufacturer');
});

test('the packed app has every icon', () => {
  const drawn = readdirSync(join(ROOT, 'main/desktop/icons'));
  const icons = readdirSync(join(packed.app, 'dist/desktop/icons'));
  expect(icons.toSorted()).toEqual(drawn.toSorted());
});

test('the packed app asks for no package that is not in it', () => {
  const calls = /(?:^import .*from |^import |\bimport\(|__require\()["']([^."'][^"']*)["']/gm;
  const asked = scriptsIn().flatMap(({ code }) =>
    [...code.matchAll(calls)].map(([, found = '']) => found),
  );
  const named = new Set(asked.filter((name) => !isBuiltin(name) && !OPTIONAL.includes(name)));
  expect([...named].toSorted()).toEqual(['better-sqlite3', 'electron']);
});

test('the packed app is small: all that is ours takes less than 14 MiB', () => {
  const bytes = filesIn(packed.app)
    .map((name) => statSync(join(packed.app, name)).size)
    .reduce((sum, size) => sum + size, 0);
  expect(bytes / 1024 / 1024).toBeLessThan(14);
});

test('the packed app leaves only the native module outside its archive, and brings the licences', () => {
  expect(filesIn(packed.folder).toSorted()).toEqual([
    'LICENSE.electron.txt',
    'inglenook-desktop',
    'locales/en-US.pak',
    'resources/app.asar',
    'resources/app.asar.unpacked/node_modules/better-sqlite3/prebuilds/linux-x64.node',
    'resources/apparmor-profile',
    'resources/licences/LICENCES.txt',
    'resources/licences/sbom.cdx.json',
    'version',
  ]);
});

test('the packed app has its fuses set, so its binary runs only the code in its archive', () => {
  expect(fusesOf(join(packed.folder, 'inglenook-desktop'))).toBe(SET);
});

test('the app for macOS is packed on any system with its own native module, its fuses and its words for the system', () => {
  const modules = filesIn(packed.mac).filter((name) => name.endsWith('.node'));
  expect(modules.map((name) => name.split('/').at(-1))).toEqual(['darwin-arm64.node']);
  expect(fusesOf(join(packed.mac, MAC_FRAMEWORK, 'Versions/A/Electron Framework'))).toBe(SET);
  const info = readFileSync(join(packed.mac, 'Contents/Info.plist'), 'utf8');
  for (const key of ['LSUIElement', 'NSAppSleepDisabled'])
    expect(info).toMatch(new RegExp(`<key>${key}</key>\\s*<true/>`));
  expect(info).toMatch(/<key>NSLocalNetworkUsageDescription<\/key>\s*<string>Inglenook sends/);
  expect(info).toContain('<key>ElectronAsarIntegrity</key>');
});

/** RunAsNode, cookies, NODE_OPTIONS, --inspect, archive integrity, only the archive, snapshot, file://, traps. */
const SET = '010011101';

function fusesOf(file: string): string {
  const binary = readFileSync(file, 'latin1');
  return binary.slice(binary.indexOf(FUSES) + FUSES.length + 2);
}

const read = (name: string) =>
  readFileSync(join(packed.folder, 'resources/licences', name), 'utf8');
const bill = () => billSchema.parse(JSON.parse(read('sbom.cdx.json')));

test('the bill of materials of a release holds what the build adds, the native package with what it needs, and Electron', () => {
  const { components, dependencies } = bill();
  const listed = new Set(components.map((component) => component['bom-ref']));
  const names = new Set([...listed].map((ref) => ref.slice(0, ref.lastIndexOf('@'))));
  for (const name of ['better-sqlite3', 'node-addon-api', 'express', 'scheduler', 'electron'])
    expect(names).toContain(name);
  for (const name of ['vite', 'vitest', 'playwright-core']) expect(names).not.toContain(name);
  for (const built of ['node', 'window']) {
    const licences = readFileSync(join(ROOT, 'dist', built, 'licenses.md'), 'utf8');
    const inside = [...licences.matchAll(/^## (\S+) - (\S+)/gm)].map(([, n, v]) => `${n}@${v}`);
    expect(inside.length).toBeGreaterThan(2);
    expect(inside.filter((ref) => !listed.has(ref))).toEqual([]);
  }
  const needed = dependencies.flatMap(({ dependsOn }) => dependsOn);
  expect(needed.filter((ref) => !listed.has(ref))).toEqual([]);
});

test('the list of licences has each package of the bill of materials, and all licences are permissive', () => {
  const list = read('LICENCES.txt');
  for (const { 'bom-ref': ref, licenses } of bill().components) {
    const [id] = licenses.map(({ license }) => license.id);
    expect(PERMISSIVE).toContain(id);
    expect(list).toContain(`\n${ref}: ${id}\n`);
  }
  expect(list.match(/Permission (is hereby granted|to use, copy)/g)?.length).toBeGreaterThan(50);
});

test('the package for Debian removes the login items when it is removed', () => {
  expect(packed.deb).toContain('--before-remove=deploy/desktop/before-remove.sh');
  expect(packed.deb).toContain(`${packed.folder}/=/opt/Inglenook`);
});

const HOOK = join(import.meta.dirname, './electron-module-hook.ts');

interface ChildMessage {
  readonly loaded?: string;
  readonly calls?: readonly string[];
  readonly paths?: Readonly<Record<string, string>>;
  readonly relaunched?: readonly string[];
  readonly outside?: string;
}

/** What the stand-in for Electron tells next. */
const messageOf = (child: ChildProcess): Promise<ChildMessage> =>
  new Promise((resolve) => child.once('message', (sent) => resolve(sent as ChildMessage)));

function startPacked(
  dataDirectory: string,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
) {
  const child = fork(join(packed.app, 'dist/desktop/electron.js'), args, {
    cwd: dataDirectory,
    execArgv: ['--import', HOOK],
    env: {
      PATH: process.env['PATH'],
      HOME: dataDirectory,
      NODE_COMPILE_CACHE: join(packed.app, '../compiled'),
      INGLENOOK_DATA_DIR: dataDirectory,
      INGLENOOK_PORT: '0',
      INGLENOOK_AGENT: 'false',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  // It is a pipe, by `stdio`.
  const complained = text(child.stderr as Readable);
  return { child, told: messageOf(child), ended, complained };
}

test('the packed program serves, keeps machines in SQLite and keys sealed, hands a second start a link, and starts again after an uncaught error', async () => {
  const directory = temporaryDirectory();
  const body = '{"object":"list","data":[{"id":"m","object":"model"}]}';
  const answer = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const server = await startByteServer('https', (socket) => void socket.write(answer));
  const env = {
    FAKE_KEYRING: 'open',
    // What its system trusts.
    SSL_CERT_FILE: join(import.meta.dirname, '../support/tls/agent.cert.pem'),
    INGLENOOK_HOSTED_B_BASE_URL: server.origin,
    INGLENOOK_HOSTED_B_API_KEY: 'sk-1',
  };
  const first = startPacked(directory, env);
  const { loaded = '', calls, paths } = await first.told;
  expect(loaded).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#code=/);
  expect(calls).toEqual(['sandbox', 'no GPU', 'lock', 'ready']);
  expect(paths).toEqual({ userData: join(directory, 'desktop') });
  const { origin } = new URL(loaded);
  expect(await (await fetch(origin)).text()).toContain('<title>Inglenook');
  const list = await fetch(`${origin}/api/v1/providers`);
  expect([list.status, await list.json()]).toMatchObject([200, { count: 0 }]);
  const models = '/api/v1/upstreams/hosted_b/models';
  const { token = '' } = await redeem(loaded);
  const listed = await postJson(origin + models, {}, bearer(token));
  expect(JSON.parse(listed.text)).toEqual({ models: ['m'] });

  expect(existsSync(join(directory, 'desktop/keychain'))).toBe(false);
  const { set } = controlOf({ url: origin, dataDirectory: directory });
  await set({ hosted_a: { apiKey: 'sk-very-secret-0123456789' } });
  const secrets = () => readFileSync(join(directory, 'secrets.json'), 'utf8');
  await expect.poll(secrets).toContain('sealed');
  expect(secrets()).not.toContain('sk-very');

  const beside = startPacked(directory);
  const { outside = '' } = await beside.told;
  expect([new URL(outside).origin, await beside.ended]).toEqual([origin, 0]);
  // Its code is of its own, and fresh.
  expect((await redeem(outside)).status).toBe(200);

  const relaunch = messageOf(first.child);
  first.child.send('crash');
  // Plain Node is told of the file that it runs; the packed app is told of nothing.
  const file = join(packed.app, 'dist/desktop/electron.js');
  expect(await relaunch).toEqual({ relaunched: [file, '--hidden'] });
  expect(await first.ended).toBe(1);

  const copy = temporaryDirectory();
  cpSync(directory, copy, { recursive: true });
  const silent = startPacked(copy, { FAKE_KEYRING: 'silent' });
  const again = startPacked(directory, { FAKE_KEYRING: 'open' }, ['--hidden=no']);
  const { loaded: link = '' } = await again.told;
  const { settings } = controlOf({ url: new URL(link).origin, dataDirectory: directory });
  expect(await settings()).toMatchObject({ hosted_a: { apiKey: { source: 'keychain' } } });
  again.child.kill('SIGTERM');
  expect([await again.ended, await again.complained]).toEqual([0, '']);
  expect(existsSync(join(directory, 'running.json'))).toBe(false);
  // The next start has written it down.
  const log = readFileSync(join(directory, 'logs/inglenook.log'), 'utf8');
  expect(log).toContain('an error that nothing catches');
  expect(readdirSync(directory)).toEqual(expect.arrayContaining(['inglenook.db', 'desktop']));

  // It starts without its keys 10 s after it has asked a keyring that does not answer.
  const without = await silent.told;
  expect((await fetch(new URL('/healthz', without.loaded))).status).toBe(200);
  silent.child.send('quit');
  expect(await silent.ended).toBe(0);
  const keyOf = (folder: string) => readFileSync(join(folder, 'desktop/keychain'), 'utf8');
  expect(keyOf(copy)).toBe(keyOf(directory));
});
