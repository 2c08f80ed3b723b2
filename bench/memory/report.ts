import { boundsTable, type Bound } from '../kit/bound.ts';
import { whole } from '../kit/table.ts';
import type { IdleFigures } from './idle.ts';
import type { SoakFigures } from './soak.ts';

/** What idling cost. */
export function idleText({ minutes }: IdleFigures, bounds: readonly Bound[]): string {
  const what = `Gateway, registry and agent with an engine and a GPU tool, idle for ${minutes.toFixed(1)} minutes.`;
  return [what, boundsTable(bounds)].join('\n\n');
}

/** What the million requests came to. */
export function soakText(figures: SoakFigures, bounds: readonly Bound[]): string {
  const { requests, failed, beforeMb, afterMb, looksMb, machines } = figures;
  return [
    `${requests} requests in ${whole(figures.seconds)} s, ${failed} of them failing: RSS ${whole(beforeMb)} MB before, ${whole(afterMb)} MB after.`,
    `After each batch: ${looksMb.map(whole).join(' ')} MB.`,
    `Meanwhile ${figures.changes} changes of settings, ${figures.feedEvents} events to an open window, ${machines.enrolled} machines enrolled and ${machines.removed} removed, ${machines.heartbeats} heartbeats, ${machines.checked} checks. All counters are what the upstreams saw.`,
    `Other programs used ${whole(100 * figures.others)} % of the machine.`,
    boundsTable(bounds),
  ].join('\n\n');
}
