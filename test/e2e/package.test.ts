import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentView } from '#shared/agent.ts';
import type { InstallLines } from '#shared/install.ts';
import { startModelServer } from '../support/agent.ts';
import { HELLO } from '../support/client.ts';
import { controlOf } from '../support/control.ts';
import { bearer, postJson, send } from '../support/http.ts';
import { asVariables } from '../support/config.ts';
import { type RunningCli, spawnProgram } from '../support/process.ts';
import { agentAddress, pathWithCard, soon } from '../support/two-hosts.ts';
import { answers, startUpstream } from '../support/upstream.ts';
import { startNpmRegistry, unreachableRegistry } from './npm-registry.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const KEY = 'a-key-of-my-own-0123456789';

/** Before dependencies. */
const MAX_TARBALL_BYTES = 2 * 1024 * 1024;

const NAME = 'inglenook';

/** The one dependency that is not built in. */
const NATIVE = 'better-sqlite3';

const PACKED =
  /^(LICENSE|README\.md|package\.json|dist\/node\/([\w-]+\.c?js|install\.(sh|ps1)|licenses\.md)|dist\/window\/(index\.html|licenses\.md|assets\/[\w-]+\.(js|css|svg)))$/;

const scene = mkdtempSync(join(tmpdir(), 'inglenook-package-'));
afterAll(() => rmSync(scene, { recursive: true, force: true }));

/** Of a user with this empty home: Node 24, tools and nothing of this checkout on the search path. */
function environmentOf(
  home: string,
  tools: readonly string[],
  npm: Readonly<Record<string, string>>,
): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([variable]) => !/^(npm_|INGLENOOK_|XDG_|VITEST|NODE_(?!EXTRA))/i.test(variable),
  );
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const others = folders.filter((each) => !each.includes('node_modules'));
  const path = [...tools, dirname(process.execPath), ...others];
  return {
    ...Object.fromEntries(inherited),
    HOME: home,
    PATH: path.join(delimiter),
    // Nothing is tried again for minutes.
    npm_config_fetch_retries: '0',
    ...npm,
  };
}

function newUser(name: string, ...tools: readonly string[]) {
  const home = join(scene, name);
  const env = environmentOf(home, tools, {
    // The cache spares the registry most of the downloads.
    npm_config_cache: join(homedir(), '.npm'),
    npm_config_prefer_offline: 'true',
    npm_config_fetch_timeout: '15000',
  });
  const data = join(home, 'data');
  const command = join(home, '.local/bin/inglenook');
  return {
    env,
    command,
    data,
    root: join(home, '.local/lib/node_modules', NAME),
    /** Runs the installed program. */
    start: (settings: Readonly<Record<string, string>>, ...args: readonly string[]): RunningCli =>
      spawnProgram([command, ...args], { ...env, ...asVariables({ DATA_DIR: data, ...settings }) }),
  };
}

/** A user of npx, whose npm asks this registry alone, with a systemctl that writes its calls down. */
function newNpxUser(url: string) {
  const home = mkdtempSync(join(scene, 'npx-'));
  const tools = join(home, 'tools');
  const calls = join(home, 'calls');
  mkdirSync(tools);
  writeFileSync(join(tools, 'systemctl'), `#!/bin/sh\necho "$*" >> ${calls}\n`);
  chmodSync(join(tools, 'systemctl'), 0o755);
  const env = environmentOf(home, [tools], {
    npm_config_registry: url,
    npm_config_cache: join(home, '.npm'),
    npm_config_userconfig: join(home, '.npmrc'),
  });
  return {
    home,
    env,
    calls: () => (existsSync(calls) ? readFileSync(calls, 'utf8') : ''),
    /** In the home, because in a checkout npx would take that. */
    npx: (settings: Readonly<Record<string, string>>, ...args: readonly string[]) =>
      spawnProgram(['sh', '-c', 'cd && exec npx --yes "$@"', 'npx', ...args], {
        ...env,
        ...asVariables(settings),
      }),
  };
}

/** The package, as another version would be; gives its folder. */
async function asVersion(tarball: string, version: string): Promise<string> {
  const folder = mkdtempSync(join(scene, 'version-'));
  await run('tar', ['-xzf', tarball, '-C', folder]);
  const manifest = join(folder, 'package/package.json');
  const own = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  writeFileSync(manifest, JSON.stringify({ ...own, version }));
  // The build has the version in it.
  for (const path of globSync(join(folder, 'package/dist/node/*.js'))) {
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replaceAll(own.version, version));
  }
  return join(folder, 'package');
}

/** The one dependency with its program for this system alone: those of all others take npm seconds to pack. */
function nativePackage(): string {
  const from = join(ROOT, 'node_modules', NATIVE);
  const to = join(mkdtempSync(join(scene, 'native-')), NATIVE);
  const isNeeded = (path: string) => {
    const [, folder = '', file = ''] = path.slice(from.length).split(sep);
    // Linux with musl has one as well.
    const isOurs = file.startsWith(process.platform) && file.endsWith(`-${process.arch}.node`);
    return !['src', 'deps'].includes(folder) && (folder !== 'prebuilds' || file === '' || isOurs);
  };
  cpSync(from, to, { recursive: true, filter: isNeeded });
  return to;
}

/** Where npx has put the package, and what it says of each package there. */
function npxFolder(home: string) {
  const [found = ''] = globSync(join(home, `.npm/_npx/*/node_modules/${NAME}`));
  const lockfile = readFileSync(join(found, '../../package-lock.json'), 'utf8');
  return JSON.parse(lockfile) as {
    readonly packages: Readonly<Record<string, { readonly resolved?: string }>>;
  };
}

/** As a release packs it. */
async function pack(): Promise<string> {
  await run(process.execPath, ['scripts/pack.ts', scene], { cwd: ROOT });
  const [tarball = ''] = globSync(join(scene, `${NAME}-*.tgz`));
  return tarball;
}

/** Why npm cannot install here; null once it has. */
async function installError(tarball: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const prefix = join(env['HOME'] ?? '', '.local');
  try {
    await run('npm', ['install', '--global', '--prefix', prefix, ...flags, tarball], { env });
    return null;
  } catch (error) {
    const why = unreachableRegistry(error);
    if (why !== null) return why;
    throw error;
  }
}

describe.runIf(process.platform !== 'win32')('the npm package', () => {
  const first = newUser('first');
  let tarball = '';
  let why: string | null = null;

  beforeAll(async () => {
    tarball = await pack();
    why = await installError(tarball, first.env);
    if (why !== null) console.warn(`SKIPPED: ${why}`);
  });

  test('the npm package holds the program and the dashboard, built: no tests, no TypeScript, no maps', async () => {
    const { stdout } = await run('tar', ['-tzf', tarball]);
    const paths = stdout
      .trim()
      .split('\n')
      .map((path) => path.replace('package/', ''));
    expect(paths.filter((path) => !PACKED.test(path))).toEqual([]);
    for (const path of [
      'LICENSE',
      'dist/node/inglenook.cjs',
      'dist/node/headless.js',
      'dist/node/licenses.md',
      'dist/node/install.sh',
      'dist/node/install.ps1',
      'dist/node/database-thread.js',
      'dist/node/systeminformation-helper.js',
      'dist/window/index.html',
      'dist/window/licenses.md',
    ])
      expect(paths).toContain(path);
    const { size } = statSync(tarball);
    console.log(`The package has ${paths.length} files, ${Math.round(size / 1024)} KiB.`);
    expect(size).toBeLessThan(MAX_TARBALL_BYTES);
  });

  test('the npm package runs only what was tested here, whatever was published since', (ctx) => {
    if (why !== null) ctx.skip(why);
    const modules = join(first.root, 'node_modules');
    // Headers for a compiler, which is not needed: the package brings its binaries.
    rmSync(join(modules, 'node-addon-api'), { recursive: true });
    expect(readdirSync(modules).filter((name) => !name.startsWith('.'))).toEqual([NATIVE]);
    const tested = digestsIn(join(ROOT, 'node_modules', NATIVE));
    expect(Object.keys(tested).length).toBeGreaterThan(10);
    expect(digestsIn(join(modules, NATIVE))).toEqual(tested);
  });

  test('the npm package has one dependency, of an exact version, and no script that npm runs at installation', async () => {
    const { stdout } = await run('tar', ['-xOzf', tarball, 'package/package.json']);
    const { dependencies, scripts } = JSON.parse(stdout) as Record<string, Record<string, string>>;
    expect(dependencies).toEqual({ [NATIVE]: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
    const native = JSON.parse(
      readFileSync(join(ROOT, 'node_modules', NATIVE, 'package.json'), 'utf8'),
    ) as { scripts: Record<string, string>; gypfile: boolean };
    const names = [...Object.keys(scripts ?? {}), ...Object.keys(native.scripts)];
    expect(names.filter((name) => /^(pre|post)?install$|^prepare$/.test(name))).toEqual([]);
    // Else npm would run a compiler, because there is a binding.gyp.
    expect(native.gypfile).toBe(false);
  });

  test('the npm package says in one sentence that Node is too old, in words that an old Node can read', async () => {
    const bin = join(ROOT, 'dist/node/inglenook.cjs');
    expect(readFileSync(bin, 'utf8')).not.toMatch(/=>|`|\b(const|let|import|async|class)\b/);
    const old = `Object.defineProperty(process.versions, 'node', { value: '18.20.4' }); require('${bin}')`;
    const ended = await spawnProgram([process.execPath, '-e', old], first.env).ended;
    expect([ended.code, ended.stdout]).toEqual([1, '']);
    expect(ended.stderr).toMatch(/^Inglenook needs Node 24 or newer, and this is Node 18.+\.\n$/);
  });

  test('the npm package runs in an empty home, and a machine joins through its installer, is verified and serves', async (ctx) => {
    if (why !== null) ctx.skip(why);
    const upstream = await startUpstream(answers('hi'));
    const gateway = first.start({
      PORT: '0',
      AGENT: 'false',
      HOST: '0.0.0.0',
      API_KEYS: KEY,
      HOSTED_A_BASE_URL: upstream.url,
    });
    const url = new URL(await gateway.printed(/Dashboard: (\S+)/)).origin;
    expect((await send(url)).text).toContain('<script');
    const chat = await postJson(`${url}/v1/chat/completions`, HELLO, bearer(KEY));
    expect([chat.status, chat.headers['x-gateway-upstream']]).toEqual([200, 'hosted_a']);

    // The installer is what the window names.
    const { read, joinToken } = controlOf({ url, dataDirectory: first.data });
    const { unix, version } = await read<InstallLines>('install');
    const [, outside = ''] = /curl -fsS (\S+)\/install \| sh -s -- <token>/.exec(unix.line) ?? [];
    const script = await send(`${outside}/install`);
    expect([script.status, script.headers['content-type']]).toEqual([
      200,
      'text/plain; charset=utf-8',
    ]);
    expect(hash('sha256', script.text)).toBe(unix.sha256);

    // Over loopback the agent may have an address that no other test listens at.
    const token = await joinToken();
    const second = newUser('second', ...pathWithCard().split(delimiter).slice(0, 1));
    const line = `${unix.line.replace(outside, url).replace('<token>', token)} --yes --as-root`;
    const env = { ...second.env, ...asVariables({ DATA_DIR: second.data, AGENT: 'true' }) };
    const installed = await spawnProgram(['sh', '-c', line], env).ended;
    expect(installed).toMatchObject({ code: 0, stdout: expect.stringContaining('Joined the') });
    expect(installed.stdout).not.toContain(token);
    const own = await second.start({}, '--version').ended;
    expect([own.stdout, own.stderr]).toEqual([`${version}\n`, '']);
    expect(listOf(second.root)).toEqual(listOf(first.root));

    const engine = await startModelServer(answers('from the engine'));
    const place = { AGENT_HOST: agentAddress(), ENGINE_URL: engine.url };
    const machine = second.start({ PORT: '0', AGENT: 'true', ...place });
    const its = new URL(await machine.printed(/Dashboard: (\S+)/)).origin;
    await soon(async () => {
      const { data } = await read<{ data: unknown[] }>('providers');
      expect(data).toMatchObject([{ verification: { status: 'verified' }, status: 'idle' }]);
    });
    const served = await postJson(`${url}/v1/chat/completions`, HELLO, bearer(KEY));
    expect([served.status, served.headers['x-gateway-upstream']]).toEqual([200, 'local']);
    // The thread that asks for the machine's model was found.
    const agent = JSON.parse((await send(`${its}/api/v1/agent`)).text) as AgentView;
    expect(agent.problems.filter(({ tool }) => tool === 'systeminformation')).toEqual([]);

    const early = await second.start({}, 'uninstall').ended;
    expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('stop it first')]);
    for (const cli of [machine, gateway]) {
      cli.kill('SIGTERM');
      expect(await cli.ended).toMatchObject({ code: 0, stderr: '' });
    }
    const gone = await second.start({}, 'uninstall').ended;
    expect(gone).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining(second.data),
    });
    expect([existsSync(second.root), existsSync(second.command)]).toEqual([false, false]);
    expect(existsSync(join(second.data, 'agent.json'))).toBe(true);
  });

  test.runIf(process.platform === 'linux')(
    'npx alone runs the gateway on a bare machine, installs its service for good, upgrades and removes it',
    async () => {
      const { url, publish } = await startNpmRegistry();
      const { home, env, calls, npx } = newNpxUser(url);
      publish(join(ROOT, 'node_modules/node-addon-api'));
      publish(nativePackage());
      publish(await asVersion(tarball, '0.9.1'));

      const started = npx({ PORT: '0', AGENT: 'false' }, NAME);
      const link = await started.printed(/Dashboard: (\S+)/);
      const { origin } = new URL(link);
      const page = await send(origin);
      const [, script = ''] = /<script[^>]* src="\.?\/?([^"]+)"/.exec(page.text) ?? [];
      const code = await send(`${origin}/${script}`);
      const answered = [page.status, code.status, code.headers['content-type']];
      expect(answered).toEqual([200, 200, expect.stringContaining('javascript')]);
      // All that runs has come from the registry.
      const { '': _root, ...packages } = npxFolder(home).packages;
      expect(Object.keys(packages).toSorted()).toEqual(
        [NAME, NATIVE, 'node-addon-api'].map((name) => `node_modules/${name}`).toSorted(),
      );
      for (const { resolved } of Object.values(packages)) expect(resolved).toContain(url);
      // As Ctrl+C does: npx and its shell would keep a signal of their own to themselves.
      process.kill(-started.pid, 'SIGINT');
      await started.ended;

      const root = join(home, '.local/lib/node_modules', NAME);
      const unit = join(home, '.config/systemd/user/inglenook.service');
      const program = join(root, 'dist/node/inglenook.cjs');
      const versionThere = async () =>
        (await run(process.execPath, [program, '--version'], { env })).stdout.trim();
      const restarts = () => calls().match(/^--user restart inglenook/gm)?.length ?? 0;
      expect([existsSync(root), existsSync(unit), restarts()]).toEqual([false, false, 0]);
      const installed = await npx({}, NAME, 'service', 'install').ended;
      expect(installed).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(`Installed ${unit}`),
      });
      expect(await versionThere()).toContain('0.9.1');
      expect(readFileSync(unit, 'utf8')).toContain(`"${program}" "start"`);
      expect(restarts()).toBe(1);

      publish(await asVersion(tarball, '0.9.2'));
      const upgraded = await npx({}, `${NAME}@latest`, 'service', 'install').ended;
      expect(upgraded).toMatchObject({ code: 0 });
      expect(await versionThere()).toContain('0.9.2');
      expect(restarts()).toBe(2);

      const removed = await npx({}, NAME, 'uninstall').ended;
      expect(removed).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(`Removed ${root}`),
      });
      expect(calls()).toMatch(/^--user disable --now inglenook/m);
      expect(
        [root, unit, join(home, '.local/bin/inglenook')].filter((path) => existsSync(path)),
      ).toEqual([]);
    },
  );
});

/** The digests of what a package runs, its sources aside. */
function digestsIn(folder: string): Readonly<Record<string, string>> {
  const files = globSync('{package.json,lib/**/*.js,prebuilds/**/*.node}', { cwd: folder });
  return Object.fromEntries(
    files.map((path) => [path, hash('sha256', readFileSync(join(folder, path)))]),
  );
}

/** What an installation holds, dependencies aside. */
function listOf(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => !path.startsWith('node_modules'))
    .toSorted();
}
