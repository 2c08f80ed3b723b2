import type { System } from '../system.ts';
import { CHIPS } from './chips.ts';
import { ENGINES } from './engines.ts';
import { HOSTS } from './hosts.ts';
import { LLAMA } from './llama.ts';
import { MAKERS } from './makers.ts';
import { OPEN_MODELS } from './open-models.ts';
import { PROXIES } from './proxies.ts';
import { SWAPPERS } from './swappers.ts';

export const SYSTEMS: readonly System[] = [
  ...ENGINES,
  ...LLAMA,
  ...SWAPPERS,
  ...MAKERS,
  ...OPEN_MODELS,
  ...HOSTS,
  ...CHIPS,
  ...PROXIES,
];
