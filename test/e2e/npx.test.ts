import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { send } from '../support/http.ts';
import { type NpmRegistry, startNpmRegistry } from '../support/npm-registry.ts';
import { asVariables, spawnProgram } from '../support/process.ts';

// The way of a machine without a clone: npx, from a registry on loopback that has our package and what it depends on.

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const NAME = 'switchyard-gateway';

const scene = mkdtempSync(join(tmpdir(), 'switchyard-npx-'));
afterAll(() => rmSync(scene, { recursive: true, force: true }));

/** An empty home with Node and npm, and a systemctl that writes its calls down. */
function newUser({ url }: NpmRegistry) {
  const home = join(scene, 'home');
  const tools = join(scene, 'tools');
  const calls = join(scene, 'calls');
  mkdirSync(home);
  mkdirSync(tools);
  writeFileSync(join(tools, 'systemctl'), `#!/bin/sh\necho "$*" >> ${calls}\n`);
  chmodSync(join(tools, 'systemctl'), 0o755);
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|SWITCHYARD_|XDG_|VITEST|NODE_)/i.test(name),
  );
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const path = [
    tools,
    dirname(process.execPath),
    ...folders.filter((each) => !each.includes('node_modules')),
  ];
  const env = {
    ...Object.fromEntries(inherited),
    HOME: home,
    PATH: path.join(delimiter),
    npm_config_registry: url,
    npm_config_cache: join(home, '.npm'),
    npm_config_userconfig: join(home, '.npmrc'),
    npm_config_fetch_retries: '0',
  };
  // npm asks for some word before it publishes.
  writeFileSync(env.npm_config_userconfig, `//${new URL(url).host}/:_authToken=any\n`);
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

/** Packs this checkout as another version would be. */
async function pack(version: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', scene], {
    cwd: ROOT,
  });
  const tarball = join(scene, stdout.trim().split('\n').at(-1) ?? '');
  const folder = join(scene, version);
  mkdirSync(folder);
  await run('tar', ['-xzf', tarball, '-C', folder]);
  const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const manifest = join(folder, 'package/package.json');
  // Without scripts: its builds are there.
  writeFileSync(manifest, JSON.stringify({ ...own, version, scripts: {} }));
  // The build has the version in it.
  for (const path of globSync(join(folder, 'package/dist/node/*.js'))) {
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replaceAll(own.version, version));
  }
  return join(folder, 'package');
}

const isLinux = process.platform === 'linux';

test.runIf(isLinux)(
  'npx alone runs the gateway on a bare machine, installs its service for good, upgrades and removes it',
  async () => {
    const registry = await startNpmRegistry();
    const { home, env, calls, npx } = newUser(registry);
    const publish = (folder: string) =>
      run('npm', ['publish', '--ignore-scripts', folder], { env, cwd: scene });
    for (const name of ['better-sqlite3', 'node-addon-api'])
      await publish(join(ROOT, 'node_modules', name));
    await publish(await pack('0.9.1'));

    const started = npx({ PORT: '0', AGENT: 'false' }, NAME);
    const link = await started.printed(/Dashboard: (\S+)/);
    const page = await send(new URL(link).origin);
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('<script')]);
    expect(new Set(registry.fetched.map((each) => each.replace(/@[\d.]+$/, '')))).toEqual(
      new Set([NAME, 'better-sqlite3', 'node-addon-api']),
    );
    // As Ctrl+C does: npx and its shell would keep a signal of their own to themselves.
    process.kill(-started.pid, 'SIGINT');
    await started.ended;

    const root = join(home, '.local/lib/node_modules', NAME);
    const unit = join(home, '.config/systemd/user/switchyard.service');
    const versionThere = () =>
      (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;
    const installed = await npx({}, NAME, 'service', 'install').ended;
    expect(installed).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Installed ${unit}`),
    });
    expect(versionThere()).toBe('0.9.1');
    expect(readFileSync(unit, 'utf8')).toContain(`"${root}/dist/node/switchyard.cjs" "start"`);

    await publish(await pack('0.9.2'));
    const upgraded = await npx({}, `${NAME}@latest`, 'service', 'install').ended;
    expect(upgraded).toMatchObject({ code: 0 });
    expect(versionThere()).toBe('0.9.2');
    expect(calls()).toMatch(/restart|stop/);

    const removed = await npx({}, NAME, 'uninstall').ended;
    expect(removed).toMatchObject({ code: 0, stdout: expect.stringContaining(`Removed ${root}`) });
    expect(
      [root, unit, join(home, '.local/bin/switchyard')].filter((path) => existsSync(path)),
    ).toEqual([]);
  },
);
