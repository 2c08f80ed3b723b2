import { registerHooks } from 'node:module';

registerHooks({
  resolve: (name, context, next) =>
    name === 'electron'
      ? { url: new URL('electron-module.ts', import.meta.url).href, shortCircuit: true }
      : next(name, context),
});
