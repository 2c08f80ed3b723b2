import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';
import { PROGRAM } from '../support/process.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Prints what was loaded of the program once the gateway listens, and ends. */
const WATCH = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({
  load(url, context, next) {
    if (/dist\\/node\\//.test(url)) loaded.push(url);
    return next(url, context);
  },
});
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (text) => {
  if (!String(text).includes('Inglenook is running.')) return true;
  write(JSON.stringify(loaded));
  process.exit();
};
`;

test('the code of the pool is not loaded without a shared database', () => {
  const hook = `data:text/javascript,${encodeURIComponent(WATCH)}`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--import', hook, PROGRAM, 'start'], {
    cwd: ROOT,
    encoding: 'utf8',
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      INGLENOOK_PORT: '0',
      INGLENOOK_AGENT: 'false',
      INGLENOOK_DATA_DIR: temporaryDirectory(),
    },
  });
  expect(stderr.replaceAll(/^Warning: .*\n/gm, '')).toBe('');
  const loaded = JSON.parse(stdout) as string[];
  expect(loaded.length).toBeGreaterThan(5);
  const holders = globSync('dist/node/*.js', { cwd: ROOT }).filter((file) =>
    readFileSync(join(ROOT, file), 'utf8').includes('main/registry/store/postgres/'),
  );
  expect(holders.length).toBeGreaterThan(0);
  expect(holders.filter((file) => loaded.some((url) => url.endsWith(file)))).toEqual([]);
});
