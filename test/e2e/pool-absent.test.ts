import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Prints what was loaded of the program once the gateway listens, and ends. */
const WATCH = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({
  load(url, context, next) {
    if (/node_modules\\/pg|main\\//.test(url)) loaded.push(url);
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
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', hook, 'main/headless.ts', 'start'],
    {
      cwd: ROOT,
      encoding: 'utf8',
      env: {
        PATH: process.env['PATH'],
        INGLENOOK_PORT: '0',
        INGLENOOK_AGENT: 'false',
        INGLENOOK_DATA_DIR: temporaryDirectory(),
      },
    },
  );
  expect(stderr.replaceAll(/^Warning: .*\n/gm, '')).toBe('');
  const loaded = JSON.parse(stdout) as string[];
  // What would load it.
  expect(loaded.join()).toContain('main/app/registry-store.ts');
  expect(loaded.filter((url) => /node_modules\/pg|store\/postgres\//.test(url))).toEqual([]);
});
