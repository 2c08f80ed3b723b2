import { boundsTable, type Bound } from '../kit/bound.ts';
import { table } from '../kit/table.ts';
import { WAYS, type StartFigures } from './start.ts';

/** The columns of the table, in the bench's words and in those of docs/performance.md. */
export const START_COLUMNS = [
  ['healthMs', 'to `/healthz`'],
  ['cpuMs', 'its CPU time'],
  ['firstRequestMs', 'first request'],
  ['warmRequestMs', 'warm request'],
  ['firstTokenMs', 'first stream'],
  ['coldTokenMs', 'cold connections'],
  ['warmTokenMs', 'warm stream'],
] as const;

/** How long starts take, in milliseconds. */
export function startText(figures: StartFigures, bounds: readonly Bound[]): string {
  return [
    table([
      ['ms: median (quartiles)', ...START_COLUMNS.map(([, words]) => words)],
      ...WAYS.map((way) => [
        way,
        ...START_COLUMNS.map(([key]) => {
          const { value, lower, upper } = figures[way][key];
          const digits = value < 10 ? 2 : 0;
          return `${value.toFixed(digits)} (${lower.toFixed(digits)}–${upper.toFixed(digits)})`;
        }),
      ]),
    ]),
    'Streams: added time to the first token.',
    boundsTable(bounds),
  ].join('\n\n');
}
