import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/gateway.ts';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Prints what was loaded of the room of the shared database, and ends: once the gateway listens, or once that room is
 * entered, which a gateway whose database is away does seconds before it listens.
 */
const WATCH = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({
  load(url, context, next) {
    if (/node_modules\\/pg|main\\/pool\\//.test(url)) loaded.push(url);
    if (url.includes('main/pool/pool.ts')) end();
    return next(url, context);
  },
});
function end() {
  write(JSON.stringify(loaded));
  process.exit();
}
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (text, ...rest) => {
  if (!String(text).includes('Switchyard is running.')) return true;
  end();
};
`;

function loadedWith(settings: Readonly<Record<string, string>>): readonly string[] {
  const hook = `data:text/javascript,${encodeURIComponent(WATCH)}`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', hook, 'main/headless.ts', 'start'],
    {
      cwd: ROOT,
      encoding: 'utf8',
      env: {
        PATH: process.env['PATH'],
        SWITCHYARD_PORT: '0',
        SWITCHYARD_AGENT: 'false',
        SWITCHYARD_DATA_DIR: temporaryDirectory(),
        ...settings,
      },
    },
  );
  expect(stderr.replaceAll(/^Warning: .*\n/gm, '')).toBe('');
  return JSON.parse(stdout) as string[];
}

test('the code of the pool is loaded with a shared database, and not without one', () => {
  expect(loadedWith({})).toEqual([]);
  const nobodyThere = { SWITCHYARD_DATABASE_URL: 'postgres://x@127.0.0.1:1/x' };
  expect(loadedWith(nobodyThere).join()).toContain('main/pool/pool.ts');
});
