import type { KnipConfig } from 'knip';
import desktop from './tools/desktop/package.json' with { type: 'json' };
import development from './tools/development/package.json' with { type: 'json' };

export default {
  entry: [
    'test/agent/storage/agent-counter.ts',
    'test/e2e/without-descriptors.ts',
    'bench/load/{fake-upstream,load}.ts',
    'bench/relay/bare.ts',
    'renderer/main.tsx',
    'scripts/*.{mjs,ts}',
    'test/desktop/electron-module{,-hook}.ts',
    'main/inglenook.cjs',
    'main/electron.ts',
    'main/registry/store/store-worker.ts',
    'main/gateway/usage/usage-worker.ts',
    '{main,main/desktop,renderer}/vite.config.ts',
  ],
  project: ['{main,shared,renderer,test,bench}/**/*.{ts,tsx}', 'scripts/*.{mjs,ts}'],
  ignore: ['test/clients/**'],
  // Imports of these are looked for by test/rules/packages.test.ts.
  ignoreDependencies: [desktop, development].flatMap(({ devDependencies }) =>
    Object.keys(devDependencies),
  ),
  ignoreWorkspaces: ['tools/*'],
  // Whose packages stand in tools/, where Knip does not look for them.
  oxlint: true,
  prettier: true,
  typescript: true,
  vitest: true,
  ignoreBinaries: [
    'knip',
    'oxlint',
    'prettier',
    'tsc',
    'ldd',
    'rpmbuild',
    'buildah',
    'podman',
    'dbus-run-session',
    'taskset',
    'script',
    'setsid',
    'plistutil',
    'systemd-analyze',
    'promtool',
  ],
  ignoreExportsUsedInFile: true,
} satisfies KnipConfig;
