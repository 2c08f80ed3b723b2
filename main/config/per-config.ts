import type { Config } from './settings.ts';

/** Computes once per configuration value; a changed setting is a new value. */
export function perConfig<T>(compute: (config: Config) => T): (config: Config) => T {
  let last: { readonly config: Config; readonly result: T } | null = null;
  return (config) => {
    if (last?.config !== config) last = { config, result: compute(config) };
    return last.result;
  };
}
