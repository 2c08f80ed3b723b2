import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { defineConfig, type Plugin, type UserConfig } from 'vite';

const ROOT = join(import.meta.dirname, '..');

/** Copies files into `folder` of the output. */
export function copyFiles(paths: readonly string[], folder = ''): Plugin {
  return {
    name: 'inglenook-copy',
    generateBundle() {
      for (const path of paths) {
        const fileName = join(folder, basename(path));
        this.emitFile({ type: 'asset', fileName, source: readFileSync(path) });
      }
    },
  };
}

/**
 * Native code, which no bundle can hold; and what `debug` and `pg` try to load where it is there, which it is only
 * beside our own tools.
 */
const OUTSIDE = ['better-sqlite3', 'supports-color', 'pg-native'];

/**
 * A module that imports from node:http makes Node read all of its exports, one of which loads the whole of undici: 40 ms
 * of each start. Taken from the object, it is not read.
 */
const LEAN_HTTP: Plugin = {
  name: 'inglenook-lean-http',
  renderChunk: (code) => ({
    code: code.replace(
      /^import \{([^}]*)\} from "node:http";$/gm,
      (_, names: string) =>
        `const {${names.replaceAll(' as ', ': ')}} = process.getBuiltinModule("node:http");`,
    ),
    // Lines stay where they are.
    map: null,
  }),
};

/** The gateway reads them from beside its code. */
const INSTALLERS = ['install.sh', 'install.ps1'].map((name) =>
  join(ROOT, 'main/gateway/api', name),
);

/** Packages are built in: what an installation runs is what was built and tested here, whatever they publish later. */
export function nodeBundle(
  outDir: string,
  input: Readonly<Record<string, string>>,
  external: readonly string[] = [],
): UserConfig {
  return {
    root: ROOT,
    publicDir: false,
    plugins: [LEAN_HTTP, copyFiles(INSTALLERS)],
    ssr: { noExternal: true, external: OUTSIDE },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: true,
      target: 'node24',
      // The licences of what is built in.
      license: { fileName: 'licenses.md' },
      rolldownOptions: {
        external: [...OUTSIDE, ...external],
        // The workers' files lie beside the program's, where it expects them.
        input: {
          ...input,
          'database-thread': 'main/app/database-thread.ts',
          'systeminformation-helper': 'main/agent/telemetry/systeminformation-helper.ts',
        },
        // They take memory for as long as the program runs; the licences are in a file of their own.
        output: { entryFileNames: '[name].js', chunkFileNames: '[name].js', comments: false },
      },
    },
  };
}

const bundle = nodeBundle('dist/node', { headless: 'main/headless.ts' });

/** The program of the npm package: no source maps, no TypeScript, no desktop app. */
export default defineConfig({
  ...bundle,
  plugins: [bundle.plugins, copyFiles([join(import.meta.dirname, 'inglenook.cjs')])],
});
