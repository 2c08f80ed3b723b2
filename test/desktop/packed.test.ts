import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
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
import { startByteServer } from '../support/byte-server.ts';

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

/** In Electron's binary, before the fuses: version, count, and one digit each. */
const FUSES = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX';

const WIRE = Buffer.concat([Buffer.from(FUSES), Buffer.from([1, 9]), Buffer.from('1'.repeat(9))]);

function put(folder: string, files: Readonly<Record<string, string | Buffer>>): string {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), content, { mode: 0o755 });
  }
  return folder;
}

function linuxElectron(): string {
  const folder = put(temporaryDirectory(), {
    electron: WIRE,
    version: '45.4.1',
    LICENSE: '',
    'locales/en-US.pak': '',
    'locales/de.pak': '',
  });
  mkdirSync(join(folder, 'resources'));
  return folder;
}

const MAC_FRAMEWORK = 'Contents/Frameworks/Electron Framework.framework';
const plist = (executable: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict><key>CFBundleExecutable</key><string>${executable}</string></dict></plist>`;

function macElectron(): string {
  const helpers = ['', ' (GPU)', ' (Plugin)', ' (Renderer)'].flatMap((kind) => {
    const contents = `Electron.app/Contents/Frameworks/Electron Helper${kind}.app/Contents`;
    return [
      [`${contents}/Info.plist`, plist(`Electron Helper${kind}`)],
      [`${contents}/MacOS/Electron Helper${kind}`, ''],
    ];
  });
  const framework = `Electron.app/${MAC_FRAMEWORK}`;
  const folder = put(temporaryDirectory(), {
    LICENSE: '',
    'LICENSES.chromium.html': '',
    'Electron.app/Contents/Info.plist': plist('Electron'),
    'Electron.app/Contents/MacOS/Electron': '',
    'Electron.app/Contents/Resources/en.lproj/none': '',
    [`${framework}/Versions/A/Electron Framework`]: WIRE,
    [`${framework}/Versions/A/Resources/en.lproj/locale.pak`]: '',
    ...Object.fromEntries(helpers),
  });
  symlinkSync('A', join(folder, framework, 'Versions/Current'));
  for (const name of ['Electron Framework', 'Resources'])
    symlinkSync(`Versions/Current/${name}`, join(folder, framework, name));
  return folder;
}

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => statSync(join(folder, name)).isFile());

async function packFor(targets: ReturnType<Platform['createTarget']>, more: object) {
  const output = temporaryDirectory();
  const computed: unknown[] = [];
  await build({
    projectDir: ROOT,
    targets,
    config: { extends: 'electron-builder.yml', directories: { output }, ...more },
    effectiveOptionComputed: (options: unknown) => Promise.resolve(computed.push(options) > 0),
  });
  return { output, computed };
}

async function packLinux() {
  const targets = Platform.LINUX.createTarget(['deb'], Arch.x64);
  const { output, computed } = await packFor(targets, { electronDist: linuxElectron() });
  const folder = join(output, 'linux-unpacked');
  // Inside the checkout no package could be missing unseen.
  const app = join(temporaryDirectory(), 'app');
  extractAll(join(folder, 'resources/app.asar'), app);
  /** What the tool gets that makes the package. */
  const [[deb]] = computed as [readonly [readonly string[], string]];
  return { folder, app, deb };
}

let packed: Awaited<ReturnType<typeof packLinux>>;
beforeAll(async () => {
  run('scripts/setup.mjs', 'window', 'package', 'desktop');
  run('scripts/licences.ts');
  packed = await packLinux();
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
    expect(readdirSync(join(packed.app, 'node_modules'))).toEqual(['better-sqlite3']);
  });

  test('the packed app asks for no package that is not in it', () => {
    const asked = filesIn(join(packed.app, 'dist/desktop'))
      .filter((name) => name.endsWith('.js'))
      .flatMap((name) => {
        const code = readFileSync(join(packed.app, 'dist/desktop', name), 'utf8');
        const calls = /(?:^import .*from |^import |\bimport\(|__require\()["']([^."'][^"']*)["']/gm;
        return [...code.matchAll(calls)].map(([, found = '']) => found);
      });
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
});

test('the app for macOS is packed on any system with its own native module, its fuses and its words for the system', async () => {
  const icon = join(put(temporaryDirectory(), { 'app.icns': '' }), 'app.icns');
  const { output } = await packFor(Platform.MAC.createTarget(['dir'], Arch.arm64), {
    electronDist: macElectron(),
    mac: { icon, identity: null },
  });
  const app = join(output, 'mac-arm64/Inglenook.app');
  const modules = filesIn(app).filter((name) => name.endsWith('.node'));
  expect(modules.map((name) => name.split('/').at(-1))).toEqual(['darwin-arm64.node']);
  expect(fusesOf(join(app, MAC_FRAMEWORK, 'Versions/A/Electron Framework'))).toBe(SET);
  const info = readFileSync(join(app, 'Contents/Info.plist'), 'utf8');
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

test('the package for Debian takes the login items along when it is removed', () => {
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
  const quit = () => {
    child.send('quit');
    return ended;
  };
  return { child, told: messageOf(child), ended, complained, quit };
}

async function call(loaded: string, path: string, init: RequestInit = {}) {
  const { origin, hash } = new URL(loaded);
  const code = hash.replace('#code=', '');
  const headers = { 'content-type': 'application/json' };
  const redeem = { method: 'POST', headers, body: JSON.stringify({ code }) };
  const session = await (await fetch(`${origin}/api/v1/sessions`, redeem)).json();
  const { token } = session as { token: string };
  const authorization = `Bearer ${token}`;
  return fetch(origin + path, { ...init, headers: { ...headers, authorization } });
}

describe('the packed program under plain Node', () => {
  test('the packed program serves its page, keeps its machines in SQLite, and frees its data directory at a logout', async () => {
    const directory = temporaryDirectory();
    const { child, told, ended, complained } = startPacked(directory, {}, ['--hidden=no']);
    const { loaded = '', calls, paths } = await told;
    expect(loaded).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#code=/);
    expect(calls).toEqual(['sandbox', 'no GPU', 'lock', 'ready']);
    expect(paths).toEqual({ userData: join(directory, 'desktop') });
    const { origin } = new URL(loaded);
    expect(await (await fetch(origin)).text()).toContain('<title>Inglenook');
    const list = await fetch(`${origin}/api/v1/providers`);
    expect([list.status, await list.json()]).toMatchObject([200, { count: 0 }]);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(await complained).toBe('');
    const next = startPacked(directory);
    expect(await next.told).toMatchObject({ loaded: expect.any(String) });
    expect(await next.quit()).toBe(0);
    expect(readdirSync(directory)).toEqual(expect.arrayContaining(['inglenook.db', 'desktop']));
    const log = readFileSync(join(directory, 'logs/inglenook.log'), 'utf8');
    expect(log).not.toContain('database_unusable');
  });

  test('the packed program beside a running gateway opens a fresh link of that one each time, and ends', async () => {
    const directory = temporaryDirectory();
    const running = startPacked(directory);
    await running.told;
    const links = new Set<string>();
    for (let times = 0; times < 2; times++) {
      const beside = startPacked(directory);
      const { outside = '' } = await beside.told;
      links.add(outside);
      expect([(await fetch(outside)).status, await beside.ended]).toEqual([200, 0]);
    }
    expect(links.size).toBe(2);
    expect(await running.quit()).toBe(0);
  });

  test('the packed program starts again after an uncaught error, and has reported it', async () => {
    const directory = temporaryDirectory();
    const { child, told, ended } = startPacked(directory);
    await told;
    const relaunch = messageOf(child);
    child.send('crash');
    // Plain Node is told of the file that it runs; the packed app is told of nothing.
    const file = join(packed.app, 'dist/desktop/electron.js');
    expect(await relaunch).toEqual({ relaunched: [file, '--hidden'] });
    expect(await ended).toBe(1);
    const again = startPacked(directory);
    const { loaded = '' } = await again.told;
    expect((await fetch(new URL('/healthz', loaded))).status).toBe(200);
    expect(await again.quit()).toBe(0);
    const log = readFileSync(join(directory, 'logs/inglenook.log'), 'utf8');
    expect(log).toContain('an error that nothing catches');
  });

  test('the packed program seals a key that is saved, and starts without it after 10 s while its keyring does not answer', async () => {
    const directory = temporaryDirectory();
    const first = startPacked(directory, { FAKE_KEYRING: 'open' });
    const { loaded = '' } = await first.told;
    expect(existsSync(join(directory, 'desktop/keychain'))).toBe(false);
    const body = JSON.stringify({ hosted_a: { apiKey: 'sk-very-secret-0123456789' } });
    const saved = await call(loaded, '/api/v1/settings', { method: 'PATCH', body });
    expect(saved.status).toBe(200);
    const secrets = join(directory, 'secrets.json');
    await expect.poll(() => readFileSync(secrets, 'utf8')).toContain('sealed');
    expect(readFileSync(secrets, 'utf8')).not.toContain('sk-very');
    expect(await first.quit()).toBe(0);
    const key = readFileSync(join(directory, 'desktop/keychain'), 'utf8');
    const second = startPacked(directory, { FAKE_KEYRING: 'silent' });
    const without = await second.told;
    expect((await fetch(new URL('/healthz', without.loaded))).status).toBe(200);
    expect(await second.quit()).toBe(0);
    expect(readFileSync(join(directory, 'desktop/keychain'), 'utf8')).toBe(key);
    const third = startPacked(directory, { FAKE_KEYRING: 'open' });
    const again = await third.told;
    const view = await call(again.loaded ?? '', '/api/v1/settings');
    expect(await view.json()).toMatchObject({ hosted_a: { apiKey: { source: 'keychain' } } });
    expect(await third.quit()).toBe(0);
  });

  test('the packed program trusts the certificates that its system trusts', async () => {
    const body = '{"object":"list","data":[{"id":"m","object":"model"}]}';
    const answer = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const server = await startByteServer('https', (socket) => void socket.write(answer));
    const { told, quit } = startPacked(temporaryDirectory(), {
      SSL_CERT_FILE: join(import.meta.dirname, '../support/tls/agent.cert.pem'),
      INGLENOOK_HOSTED_A_BASE_URL: server.origin,
      INGLENOOK_HOSTED_A_API_KEY: 'sk-1',
    });
    const { loaded = '' } = await told;
    const models = await call(loaded, '/api/v1/upstreams/hosted_a/models', {
      method: 'POST',
      body: '{}',
    });
    expect(await models.json()).toEqual({ models: ['m'] });
    expect(await quit()).toBe(0);
  });
});

describe('npm run dist', () => {
  const plan = (platform: string, env: Record<string, string> = {}) =>
    execFileSync(process.execPath, [join(ROOT, 'scripts/dist.mjs'), '--plan', platform], {
      env,
      encoding: 'utf8',
    });

  test.each([
    ['darwin', /Signed ad hoc: it opens after[\s\S]*Not notarised: set APPLE_API_KEY \(the path/],
    ['win32', /Not signed: set AZURE_SIGNING_ENDPOINT/],
    ['linux', /name no real page: set INGLENOOK_HOMEPAGE/],
  ])('npm run dist on %s says what is missing, and goes on', (platform, words) => {
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
});
