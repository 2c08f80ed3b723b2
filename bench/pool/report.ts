import { boundsTable, type Bound } from '../kit/bound.ts';
import type { PoolFigures } from './pool.ts';
import { short, table, whole } from '../kit/table.ts';

/** The one that is alone with its file, under as many machines. */
const aloneOf = ({ machines }: PoolFigures, all: readonly PoolFigures[]) =>
  all.find((other) => other.machines === machines && other.database === null);

/** CPU time of all gateways for a heartbeat, to that of the one alone. */
export const toAlone = (figures: PoolFigures, all: readonly PoolFigures[]) =>
  figures.cpuUsPerHeartbeat / (aloneOf(figures, all)?.cpuUsPerHeartbeat ?? Number.NaN);

/** The heads of `poolRows`. */
export const POOL_COLUMNS = [
  'machines',
  'gateways',
  'heartbeats/s',
  'unanswered',
  'CPU µs each',
  'to SQLite',
  'database µs each',
  'statements/s',
  'KB/s written',
  'answer p99 ms',
  'loop p99 ms',
  'lag p50/p99 ms',
];

/** A row for each number of machines and gateways. */
export const poolRows = (all: readonly PoolFigures[]): readonly (readonly string[])[] =>
  all.map((figures) => {
    const { database, lag } = figures;
    return [
      whole(figures.machines),
      database === null ? '1, SQLite' : `${figures.gateways}`,
      whole(figures.heartbeatsPerS),
      whole(figures.unanswered),
      whole(figures.cpuUsPerHeartbeat),
      `${toAlone(figures, all).toFixed(2)}×`,
      database === null ? '' : whole(figures.databaseUsPerHeartbeat),
      database === null ? '' : whole(database.statements),
      database === null ? '' : whole(database.kilobytes),
      short(figures.ackP99Ms),
      short(figures.loopP99Ms),
      lag === null ? '' : `${short(lag.p50Ms)} / ${short(lag.p99Ms)}`,
    ];
  });

/** How the cost grows with machines and gateways. */
export const poolText = (all: readonly PoolFigures[], bounds: readonly Bound[]): string =>
  [table([POOL_COLUMNS, ...poolRows(all)]), boundsTable(bounds)].join('\n\n');
