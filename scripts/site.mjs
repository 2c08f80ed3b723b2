// `npm run site`: builds the docs site to dist/site. VitePress has a manifest of its own, so that no other command installs it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { npm, ROOT, run } from './tree.mjs';

const SITE = join(ROOT, 'docs/site');
const VITEPRESS = join(SITE, 'node_modules/vitepress/bin/vitepress.js');

const installed = existsSync(VITEPRESS) ? { code: 0 } : await npm(['ci', '--prefix', SITE]);
const ended =
  installed.code === 0 ? await run(process.execPath, [VITEPRESS, 'build', SITE]) : installed;
process.exitCode = ended.code ?? 1;
