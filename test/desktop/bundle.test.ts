import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { build } from 'vite';

const ROOT = join(import.meta.dirname, '../..');

// Just enough of Electron for the bundle to load in plain Node and find that it is not the first.
const ELECTRON = `
const said = [];
const quiet = new Proxy(function () {}, { get: () => quiet, apply: () => quiet, construct: () => quiet });
export const app = {
  commandLine: { hasSwitch: () => false },
  on: () => app,
  setAppUserModelId: (id) => said.push(['setAppUserModelId', id]),
  setPath: (name, path) => said.push(['setPath', name, path]),
  enableSandbox: () => said.push(['enableSandbox']),
  requestSingleInstanceLock: () => { said.push(['lock']); return false; },
  quit: () => { said.push(['quit']); console.log(JSON.stringify(said)); },
};
export { quiet as powerMonitor, quiet as safeStorage, quiet as utilityProcess };
`;
const HOOK = `
import { registerHooks } from 'node:module';
const stub = 'data:text/javascript,' + encodeURIComponent(${JSON.stringify(ELECTRON)});
registerHooks({
  resolve: (name, context, next) =>
    name === 'electron' ? { url: stub, shortCircuit: true } : next(name, context),
});
`;

describe('the bundle', () => {
  // Inside the repository, because the native package that stays outside the bundle is found from there.
  const cache = join(ROOT, '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'bundle-'));
  const dataDir = mkdtempSync(join(tmpdir(), 'inglenook-bundle-'));
  beforeAll(async () => {
    await build({
      configFile: join(ROOT, 'main/desktop/vite.config.ts'),
      logLevel: 'silent',
      build: { outDir: folder },
    });
  });
  afterAll(() => {
    for (const path of [folder, dataDir]) rmSync(path, { recursive: true, force: true });
  });

  test('the bundle loads in Node 24 and keeps its own data alongside the gateway data', () => {
    const hook = join(dataDir, 'hook.mjs');
    writeFileSync(hook, HOOK);
    const done = spawnSync(
      process.execPath,
      ['--import', `file://${hook}`, join(folder, 'electron.js')],
      { env: { ...process.env, INGLENOOK_DATA_DIR: dataDir }, encoding: 'utf8' },
    );
    expect(done.stderr).toBe('');
    expect(JSON.parse(done.stdout)).toEqual([
      ['setPath', 'userData', join(dataDir, 'desktop')],
      ['enableSandbox'],
      ['setAppUserModelId', 'io.github.inglenook'],
      ['lock'],
      ['quit'],
    ]);
  });

  test('no file of the bundle imports from node:http, for which Node would load undici at each start', () => {
    const importing = readdirSync(folder)
      .filter((name) => name.endsWith('.js'))
      .filter((name) => /^import .*"node:http"/m.test(readFileSync(join(folder, name), 'utf8')));
    expect(importing).toEqual([]);
  });

  test.each([
    ['store-worker', 'better-sqlite3'],
    ['usage-worker', 'better-sqlite3'],
    ['systeminformation-helper', 'systeminformation'],
  ])('the bundle has %s alongside it, which knows nothing of Electron', (thread, its) => {
    const worker = readFileSync(join(folder, `${thread}.js`), 'utf8');
    expect(worker).toContain(its);
    expect(worker).not.toMatch(/['"]electron['"]/);
    // It is looked for beside the file that starts it.
    const starters = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (name) =>
        name.endsWith('.js') && readFileSync(join(folder, name), 'utf8').includes(`${thread}$`),
    );
    expect(starters.length).toBeGreaterThan(0);
    expect(starters.filter((name) => name.includes('/'))).toEqual([]);
  });

  test('the bundle has a helper that answers as a process of its own', () => {
    const helper = join(folder, 'systeminformation-helper.js');
    const done = spawnSync(process.execPath, [helper, 'memory'], { encoding: 'utf8' });
    expect(done.stderr).toBe('');
    expect(JSON.parse(done.stdout)).toEqual({
      memory: { total: expect.any(Number), available: expect.any(Number) },
    });
  });

  test('the bundle has every icon alongside it', () => {
    const drawn = readdirSync(join(ROOT, 'main/desktop/icons'));
    expect(readdirSync(join(folder, 'icons')).toSorted()).toEqual(drawn.toSorted());
  });
});
