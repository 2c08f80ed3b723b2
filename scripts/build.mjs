// Builds what is older than its sources. Plain JavaScript that Node 20 understands.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { NODE_24 } from './node-24.mjs';
import { newestMs, ROOT, run } from './tree.mjs';

/** What can be built: the window that the gateway serves, the program of the npm package, and the desktop app. */
const BUILDS = {
  window: {
    what: 'the window',
    file: 'dist/window/index.html',
    config: 'renderer/vite.config.ts',
    sources: ['renderer', 'shared', 'package-lock.json'],
  },
  package: {
    what: 'the package',
    file: 'dist/node/headless.js',
    config: 'main/vite.config.ts',
    sources: ['main', 'shared', 'package.json', 'package-lock.json'],
  },
  desktop: {
    what: 'the desktop app',
    file: 'dist/desktop/electron.js',
    config: 'main/desktop/vite.config.ts',
    sources: ['main', 'shared', 'package.json'],
  },
};

/** @returns {Promise<boolean>} whether it is there now; if not, Vite has said why */
async function buildIfStale({ what, file, config, sources }) {
  const path = join(ROOT, file);
  const builtMs = existsSync(path) ? statSync(path).mtimeMs : 0;
  if (Math.max(...sources.map((name) => newestMs(join(ROOT, name)))) < builtMs) return true;
  console.log(`Building ${what} …`);
  const vite = join(ROOT, 'node_modules/vite/bin/vite.js');
  const args = [vite, 'build', '-c', join(ROOT, config), '--logLevel', 'warn'];
  // Within Vitest it is `test`, by which React would be its version for development.
  const env = { ...process.env, NODE_ENV: 'production' };
  const { code } = await run(NODE_24, args, { env });
  if (code !== 0) console.error(`Could not build ${what}; the error stands above.`);
  return code === 0;
}

/** Builds those of `names` that are stale, one after the other. */
export async function build(names) {
  for (const name of names) {
    if (!(await buildIfStale(BUILDS[name]))) return false;
  }
  return true;
}
