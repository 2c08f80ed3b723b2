import type { Listed, System } from '../system.ts';
import { CHIPS } from './chips.ts';
import { ENGINES } from './engines.ts';
import { HOSTS } from './hosts.ts';
import { LLAMA } from './llama.ts';
import { MAKERS } from './makers.ts';
import { OPEN_MODELS } from './open-models.ts';
import { PROXIES } from './proxies.ts';
import { SWAPPERS } from './swappers.ts';

const at = (place: System['place'], systems: readonly Listed[]): System[] =>
  systems.map((system) => ({ manner: {}, ...system, place }));

export const SYSTEMS: readonly System[] = [
  ...at('local', [...ENGINES, ...LLAMA, ...SWAPPERS]),
  ...at('hosted_a', [...MAKERS, ...OPEN_MODELS, ...HOSTS, ...CHIPS, ...PROXIES]),
];
