import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vite';
import { copyFiles, nodeBundle } from '../vite.config.ts';

const ICONS = join(import.meta.dirname, 'icons');
const icons = readdirSync(ICONS).map((name) => join(ICONS, name));
const bundle = nodeBundle('dist/desktop', { electron: 'main/electron.ts' }, ['electron']);

export default defineConfig({
  ...bundle,
  plugins: [bundle.plugins, copyFiles(icons, 'icons')],
  build: { ...bundle.build, sourcemap: true },
});
