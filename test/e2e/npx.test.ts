import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { send } from '../support/http.ts';
import { startNpmRegistry, startVerdaccio } from '../support/npm-registry.ts';
import { asVariables, spawnProgram } from '../support/process.ts';

// The way of a machine without a clone: npx, from a registry on loopback that has our package and what it depends on.

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const NAME = 'switchyard-gateway';
const NATIVE = join(ROOT, 'node_modules/better-sqlite3');

/** Its program, `<folder>/node_modules/verdaccio/bin/verdaccio` after `npm install --prefix <folder> verdaccio`. */
const VERDACCIO = process.env['SWITCHYARD_TEST_VERDACCIO'];

/** An empty home with Node and npm, and a systemctl that writes its calls down. */
function newUser(scene: string, url: string) {
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

/** What npm packs of this checkout, as other versions would be. */
async function pack(scene: string): Promise<(version: string) => Promise<string>> {
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', scene], {
    cwd: ROOT,
  });
  const tarball = join(scene, stdout.trim().split('\n').at(-1) ?? '');
  return async (version) => {
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
  };
}

/** The one dependency with its program for this system alone: those of all others take npm seconds to pack. */
function nativePackage(scene: string): string {
  const to = join(scene, 'better-sqlite3');
  const isNeeded = (path: string) => {
    const [, folder = '', file = ''] = path.slice(NATIVE.length).split(sep);
    // Linux with musl has one as well.
    const isOurs = file.startsWith(process.platform) && file.endsWith(`-${process.arch}.node`);
    return !['src', 'deps'].includes(folder) && (folder !== 'prebuilds' || file === '' || isOurs);
  };
  cpSync(NATIVE, to, { recursive: true, filter: isNeeded });
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

const REGISTRIES: readonly (readonly [name: string, start: (() => Promise<string>) | null])[] = [
  ['a small registry', startNpmRegistry],
  ['Verdaccio', VERDACCIO === undefined ? null : () => startVerdaccio(VERDACCIO)],
];

test.runIf(process.platform === 'linux').for(REGISTRIES)(
  'npx alone, from %s, runs the gateway on a bare machine, installs its service for good, upgrades and removes it',
  async ([, startRegistry], ctx) => {
    if (startRegistry === null) return ctx.skip('no Verdaccio at SWITCHYARD_TEST_VERDACCIO');
    const scene = mkdtempSync(join(tmpdir(), 'switchyard-npx-'));
    onTestFinished(() => rmSync(scene, { recursive: true, force: true }));
    const registry = await startRegistry();
    const { home, env, calls, npx } = newUser(scene, registry);
    const publish = (folder: string) =>
      run('npm', ['publish', '--ignore-scripts', folder], { env, cwd: scene });
    await publish(join(ROOT, 'node_modules/node-addon-api'));
    await publish(nativePackage(scene));
    const packed = await pack(scene);
    await publish(await packed('0.9.1'));

    const started = npx({ PORT: '0', AGENT: 'false' }, NAME);
    const link = await started.printed(/Dashboard: (\S+)/);
    const { origin } = new URL(link);
    const page = await send(origin);
    const [, script = ''] = /<script[^>]* src="\.?\/?([^"]+)"/.exec(page.text) ?? [];
    const code = await send(`${origin}/${script}`);
    expect([page.status, code.status, code.headers['content-type']]).toEqual([
      200,
      200,
      expect.stringContaining('javascript'),
    ]);
    // All that runs has come from the registry.
    const { '': _root, ...packages } = npxFolder(home).packages;
    expect(Object.keys(packages).toSorted()).toEqual(
      [NAME, 'better-sqlite3', 'node-addon-api'].map((name) => `node_modules/${name}`).toSorted(),
    );
    for (const { resolved } of Object.values(packages)) expect(resolved).toContain(registry);
    // As Ctrl+C does: npx and its shell would keep a signal of their own to themselves.
    process.kill(-started.pid, 'SIGINT');
    await started.ended;

    const root = join(home, '.local/lib/node_modules', NAME);
    const unit = join(home, '.config/systemd/user/switchyard.service');
    const program = join(root, 'dist/node/switchyard.cjs');
    const versionThere = async () =>
      (await run(process.execPath, [program, '--version'], { env })).stdout.trim();
    const restarts = () => calls().match(/^--user restart switchyard/gm)?.length ?? 0;
    expect([existsSync(root), existsSync(unit), restarts()]).toEqual([false, false, 0]);
    const installed = await npx({}, NAME, 'service', 'install').ended;
    expect(installed).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Installed ${unit}`),
    });
    expect(await versionThere()).toContain('0.9.1');
    expect(readFileSync(unit, 'utf8')).toContain(`"${program}" "start"`);
    expect(restarts()).toBe(1);

    await publish(await packed('0.9.2'));
    const upgraded = await npx({}, `${NAME}@latest`, 'service', 'install').ended;
    expect(upgraded).toMatchObject({ code: 0 });
    expect(await versionThere()).toContain('0.9.2');
    expect(restarts()).toBe(2);

    const removed = await npx({}, NAME, 'uninstall').ended;
    expect(removed).toMatchObject({ code: 0, stdout: expect.stringContaining(`Removed ${root}`) });
    expect(calls()).toMatch(/^--user disable --now switchyard/m);
    expect(
      [root, unit, join(home, '.local/bin/switchyard')].filter((path) => existsSync(path)),
    ).toEqual([]);
  },
);
