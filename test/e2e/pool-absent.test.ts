import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { asVariables } from '../support/config.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { PROGRAM, spawnProgram } from '../support/process.ts';

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

test('the code of the pool is not loaded without a shared database', async () => {
  const hook = `data:text/javascript,${encodeURIComponent(WATCH)}`;
  const line = [process.execPath, '--import', hook, PROGRAM, 'start'];
  const settings = { PORT: '0', AGENT: 'false', DATA_DIR: temporaryDirectory() };
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, ...asVariables(settings) };
  const { stdout, stderr } = await spawnProgram(line, env).ended;
  expect(stderr.replaceAll(/^Warning: .*\n/gm, '')).toBe('');
  const loaded = JSON.parse(stdout) as string[];
  expect(loaded.length).toBeGreaterThan(5);
  const holders = globSync('dist/node/*.js', { cwd: ROOT }).filter((file) =>
    readFileSync(join(ROOT, file), 'utf8').includes('main/registry/store/postgres/'),
  );
  expect(holders.length).toBeGreaterThan(0);
  expect(holders.filter((file) => loaded.some((url) => url.endsWith(file)))).toEqual([]);
});
