import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  publicDir: false,
  clearScreen: false,
  logLevel: 'warn',
  build: {
    outDir: '../dist/window',
    emptyOutDir: true,
    target: 'es2023',
    // The page's policy allows files of its own origin only: nothing may be inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The build carries the licences of its libraries.
    license: { fileName: 'licenses.md' },
    reportCompressedSize: false,
    // Rolldown would warn that a build on a busy machine was slow.
    rolldownOptions: { checks: { pluginTimings: false } },
    // In kB, as one file; test/e2e/window-bundle.test.ts holds what a browser loads.
    chunkSizeWarningLimit: 1000,
  },
});
