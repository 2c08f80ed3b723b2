import { join } from 'node:path';
import { defineConfig, type Plugin } from 'vite';
import { iconFiles } from './icons/files.ts';
import { encodePng } from './icons/png.ts';

const root = join(import.meta.dirname, '../..');

/** Draws the icons into the bundle, under the names that Electron looks for. */
function icons(): Plugin {
  return {
    name: 'switchyard-icons',
    generateBundle() {
      for (const [name, draw] of iconFiles())
        this.emitFile({ type: 'asset', fileName: `icons/${name}`, source: encodePng(draw()) });
    },
  };
}

// Packages stay outside the bundle: Electron runs the very files that plain Node runs.
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
      // The threads' files lie beside the program's, where it looks for them.
      input: {
        electron: 'main/electron.ts',
        'store-worker': 'main/registry/store/store-worker.ts',
        'machine-facts-worker': 'main/agent/telemetry/machine-facts-worker.ts',
      },
      output: { entryFileNames: '[name].js', chunkFileNames: '[name].js' },
    },
  },
});
