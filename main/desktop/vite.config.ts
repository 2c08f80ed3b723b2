import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type Plugin } from 'vite';

const root = join(import.meta.dirname, '../..');
const iconsDirectory = join(import.meta.dirname, 'icons');

/** Copies the icons under the names that Electron expects: `@2x` for high density, `Template` for macOS. */
function icons(): Plugin {
  return {
    name: 'switchyard-icons',
    generateBundle() {
      for (const name of readdirSync(iconsDirectory)) {
        const source = readFileSync(join(iconsDirectory, name));
        this.emitFile({ type: 'asset', fileName: `icons/${name}`, source });
      }
    },
  };
}

// Packages stay outside the bundle, so that Electron runs the same files as plain Node.
export default defineConfig({
  root,
  publicDir: false,
  plugins: [icons()],
  ssr: { external: true, noExternal: [/^#shared\//] },
  build: {
    ssr: true,
    outDir: 'dist/desktop',
    emptyOutDir: true,
    target: 'node24',
    sourcemap: true,
    rolldownOptions: {
      external: ['electron'],
      // The workers' files lie beside the program's, where it expects them.
      input: {
        electron: 'main/electron.ts',
        'store-worker': 'main/registry/store/store-worker.ts',
        'machine-facts-worker': 'main/agent/telemetry/machine-facts-worker.ts',
      },
      output: { entryFileNames: '[name].js', chunkFileNames: '[name].js' },
    },
  },
});
