import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type Plugin } from 'vite';
import { copyFiles, nodeBundle } from '../vite.config.ts';

const ICONS = join(import.meta.dirname, 'icons');
const icons = readdirSync(ICONS).map((name) => join(ICONS, name));
const bundle = nodeBundle('dist/desktop', { electron: 'main/electron.ts' }, ['electron']);

/** For Electron started with this folder, as `npm start` does. */
const manifest: Plugin = {
  name: 'inglenook-manifest',
  generateBundle() {
    const app = { productName: 'Inglenook', type: 'module', main: 'electron.js' };
    this.emitFile({ type: 'asset', fileName: 'package.json', source: JSON.stringify(app) });
  },
};

export default defineConfig({
  ...bundle,
  plugins: [bundle.plugins, manifest, copyFiles(icons, 'icons')],
  build: { ...bundle.build, sourcemap: true },
});
