import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { build } from 'vite';

const ROOT = join(import.meta.dirname, '../..');

describe('the bundle', () => {
  // Inside the repository, because the native package that stays outside the bundle is found from there.
  const cache = join(ROOT, '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'bundle-'));
  beforeAll(async () => {
    await build({
      configFile: join(ROOT, 'main/desktop/vite.config.ts'),
      logLevel: 'silent',
      build: { outDir: folder },
    });
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test('no file of the bundle imports from node:http, for which Node would load undici at each start', () => {
    const importing = readdirSync(folder)
      .filter((name) => name.endsWith('.js'))
      .filter((name) => /^import .*"node:http"/m.test(readFileSync(join(folder, name), 'utf8')));
    expect(importing).toEqual([]);
  });

  test.each([
    ['database-thread', 'better-sqlite3'],
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
