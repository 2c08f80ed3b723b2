import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { defineConfig, type Plugin, type UserConfig } from 'vite';

const ROOT = join(import.meta.dirname, '..');

/** Copies files into `folder` of the output. */
export function copyFiles(paths: readonly string[], folder = ''): Plugin {
  return {
    name: 'switchyard-copy',
    generateBundle() {
      for (const path of paths) {
        const fileName = join(folder, basename(path));
        this.emitFile({ type: 'asset', fileName, source: readFileSync(path) });
      }
    },
  };
}

/** Packages stay outside the bundle, so that a program runs the same files of them wherever it runs. */
export function nodeBundle(
  outDir: string,
  input: Readonly<Record<string, string>>,
  external: readonly string[] = [],
): UserConfig {
  return {
    root: ROOT,
    publicDir: false,
    ssr: { external: true, noExternal: [/^#shared\//] },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: true,
      target: 'node24',
      rolldownOptions: {
        external: [...external],
        // The workers' files lie beside the program's, where it expects them.
        input: {
          ...input,
          'store-worker': 'main/registry/store/store-worker.ts',
          'pool-worker': 'main/registry/store/postgres/pool-worker.ts',
          'systeminformation-helper': 'main/agent/telemetry/systeminformation-helper.ts',
        },
        output: { entryFileNames: '[name].js', chunkFileNames: '[name].js' },
      },
    },
  };
}

/** The program of the npm package: no source maps, no TypeScript, no desktop app. */
export default defineConfig({
  ...nodeBundle('dist/node', { headless: 'main/headless.ts' }),
  plugins: [copyFiles([join(import.meta.dirname, 'switchyard.cjs')])],
});
