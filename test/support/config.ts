import { loadConfig } from '../../main/config/load.ts';
import type { Config } from '../../main/config/schema.ts';

/** The configuration that these variables make. */
export function configOf(env: Readonly<Record<string, string>>): Config {
  const loaded = loadConfig(env, {});
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  return loaded.config;
}
