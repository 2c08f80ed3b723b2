import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vite';
import { copyFiles, nodeBundle } from '../vite.config.ts';

const ICONS = join(import.meta.dirname, 'icons');
const bundle = nodeBundle('dist/desktop', { electron: 'main/electron.ts' }, ['electron']);

/** Only the app needs it and what it brings, so it is no dependency of the program for servers. */
const UPDATER =
  /^(electron-updater|builder-util-runtime|fs-extra|graceful-fs|jsonfile|universalify|js-yaml|argparse|lazy-val|lodash\.\w+|semver|tiny-typed-emitter|debug|ms|sax)(\/|$)/;

export default defineConfig({
  ...bundle,
  ssr: { external: true, noExternal: [/^#shared\//, UPDATER] },
  plugins: [
    copyFiles(
      readdirSync(ICONS).map((name) => join(ICONS, name)),
      'icons',
    ),
  ],
  build: { ...bundle.build, sourcemap: true },
});
