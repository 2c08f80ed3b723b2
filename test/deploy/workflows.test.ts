import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const FILES = globSync('.github/workflows/*.yml', { cwd: ROOT });
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

test('each job runs the npm scripts that a developer runs, by names that exist', () => {
  const texts = FILES.map(read).join('\n');
  const called = [...texts.matchAll(/\bnpm (?:run (\S+)|(test)\b)/g)].map(
    ([, script, word]) => script ?? word ?? '',
  );
  expect(new Set(called)).toEqual(
    new Set(['setup', 'lint:all', 'test', 'pack', 'licences', 'dist']),
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

test('the jobs give Electron its sandbox on Ubuntu, and the notarisation its key as a file', () => {
  const [check = '', release = ''] = ['check.yml', 'release.yml'].map((name) =>
    read(FILES.find((path) => basename(path) === name) ?? ''),
  );
  const leave = check.indexOf('kernel.apparmor_restrict_unprivileged_userns=0');
  expect(leave).toBeGreaterThan(-1);
  expect(leave).toBeLessThan(check.indexOf('npm test'));
  expect(release).toContain('APPLE_API_KEY=$RUNNER_TEMP/AuthKey.p8');
  expect(release).not.toContain('APPLE_API_KEY: ${{');
});
