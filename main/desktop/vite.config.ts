import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type Plugin } from 'vite';
import { copyFiles, nodeBundle } from '../vite.config.ts';

const ICONS = join(import.meta.dirname, 'icons');
const bundle = nodeBundle('dist/desktop', { electron: 'main/electron.ts' }, ['electron']);

/** For Electron started with this folder, as `npm start` does. */
const manifest: Plugin = {
  name: 'switchyard-manifest',
  generateBundle() {
    const source = JSON.stringify({
      productName: 'Switchyard',
      type: 'module',
      main: 'electron.js',
    });
    this.emitFile({ type: 'asset', fileName: 'package.json', source });
  },
};

/** Only the app needs it and what it brings, so it is no dependency of the program for servers. */
const UPDATER =
  /^(electron-updater|builder-util-runtime|fs-extra|graceful-fs|jsonfile|universalify|js-yaml|argparse|lazy-val|lodash\.\w+|semver|tiny-typed-emitter|debug|ms|sax)(\/|$)/;

export default defineConfig({
  ...bundle,
  ssr: { external: true, noExternal: [/^#shared\//, UPDATER] },
  plugins: [
    manifest,
    copyFiles(
      readdirSync(ICONS).map((name) => join(ICONS, name)),
      'icons',
    ),
  ],
  build: { ...bundle.build, sourcemap: true },
});
