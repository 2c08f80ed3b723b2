import { boundsTable, type Bound } from '../kit/bound.ts';
import { short, whole } from '../kit/table.ts';
import type { RegistryFigures } from './registry.ts';

/** The report of the registry's part. */
export function registryText(figures: RegistryFigures, bounds: readonly Bound[]): string {
  const { machines, delay, fleet } = figures;
  return [
    `Registry: ${machines} machines, a heartbeat every 15 s each, a window open, checks going on.`,
    boundsTable(bounds),
    [
      `Event loop late: p50 ${short(delay.p50Ms)} ms, most ${short(delay.mostMs)} ms. Heartbeats: ${fleet.acknowledged} of ${fleet.sent} acknowledged, p50 ${short(fleet.ackP50Ms)} ms, p99 ${short(fleet.ackP99Ms)} ms; ${fleet.checked} checks answered.`,
      `First list ${whole(figures.firstListMs)} ms (${short(figures.listMb)} MB). Start ${whole(figures.startMs)} ms. CPU ${short(figures.cpuPercent)} % of a core for heartbeats and checks alone. RSS ${whole(figures.idleRssMb)} MB idle, ${whole(figures.loadedRssMb)} MB loaded.`,
    ].join('\n'),
  ].join('\n\n');
}
