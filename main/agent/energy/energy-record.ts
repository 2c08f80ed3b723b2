import type { AgentRecord } from '#shared/provider.ts';
import type { MeasuredEnergy } from './energy-meter.ts';

/** Callers choose model names, and a heartbeat has 64 KiB for everything. */
const MAX_MODELS = 32;
const MAX_CHARS = 256;

/** What heartbeats carry of it; absent where nothing was measured, because then there is nothing to reckon with. */
export function energyRecord({ idleWatts, models }: MeasuredEnergy): AgentRecord['energy'] {
  const told = models
    .filter(({ model }) => model.length <= MAX_CHARS)
    .toSorted((a, b) => b.tokens - a.tokens)
    .slice(0, MAX_MODELS)
    .map(({ model, joules, tokens }) => ({ model, joules: rounded(joules), tokens }));
  if (told.length === 0) return undefined;
  return { idle_w: idleWatts === null ? null : rounded(idleWatts), models: told };
}

const rounded = (value: number) => Math.round(value * 10) / 10;
