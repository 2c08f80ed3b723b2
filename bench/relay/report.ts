import { boundsTable, type Bound } from '../kit/bound.ts';
import type { Spread } from '../kit/numbers.ts';
import { ratioText, short, table, whole } from '../kit/table.ts';
import type { AgainstFigures } from './against.ts';
import type { ProtocolFigures } from './protocols.ts';
import type { Comparison, Summary } from './summary.ts';
import { COMPARED, type Compared, type OfCompared } from './targets.ts';

/** Resident memory of what is compared, before and after the load, in MB. */
export type Memory = OfCompared<{ readonly idleMb: number; readonly loadedMb: number }>;

/** The whole report, ready to be printed. */
export function reportText(summary: Summary, memory: Memory, bounds: readonly Bound[]): string {
  return [
    table([
      ['ratio to bare', 'CPU per request', 'CPU per event', 'added TTFT p50', 'added TTFT p99'],
      ...comparedRows(summary).map(([name, ...ratios]) => [name, ...ratios.map(ratioText)]),
    ]),
    table([
      ['CPU µs, TTFT µs, RSS MB', 'request', 'event', 'p50', 'p99', 'idle', 'loaded'],
      ...COMPARED.filter((of) => memory[of] !== undefined).map((of) => [
        of,
        ...figuresOf(summary).map(({ values }) => short(values[of] ?? Number.NaN)),
        whole(memory[of]?.idleMb ?? Number.NaN),
        whole(memory[of]?.loadedMb ?? Number.NaN),
      ]),
    ]),
    [
      `Direct: TTFT p99 ${whole(summary.directFirstTokenP99Us)} µs on the way, without the upstream's own time.`,
      `Assembled answers (not bounded): ${short(summary.assembledCpuUsPerEvent)} CPU µs per event.`,
      `Failover, \`local\` refused: ${whole(summary.failoverOverDirectUs)} µs over direct, ${whole(summary.failoverOverGatewayUs)} µs over the gateway without \`local\`.`,
    ].join('\n'),
    boundsTable(bounds),
    'CPU: the median of the ratios within a round (and their quartiles); CPU time is user and system time of all threads\nof the target. TTFT: over the streams of all rounds, less that of the upstream asked directly.',
  ].join('\n\n');
}

const figuresOf = (summary: Summary): readonly Comparison[] => [
  summary.cpuUsPerRequest,
  summary.cpuUsPerEvent,
  summary.addedFirstTokenP50Us,
  summary.addedFirstTokenP99Us,
];

/** A row for each that was measured: its ratios to bare. */
export function comparedRows(
  summary: Summary,
): readonly (readonly [Compared, ...(Spread | undefined)[]])[] {
  return COMPARED.filter((of) => summary.cpuUsPerRequest.values[of] !== undefined).map((of) => [
    of,
    ...figuresOf(summary).map(({ toBare }) => toBare[of]),
  ]);
}

/** What the protocols cost beside chat. */
export function protocolsText(
  figures: readonly ProtocolFigures[],
  bounds: readonly Bound[],
): string {
  return [
    table([
      ['', 'CPU µs per request', 'to chat', 'CPU µs per upstream event', 'to chat'],
      ...figures.map(({ api, way, ...figure }) => [
        `${api}, ${way}`,
        short(figure.usPerRequest),
        `${figure.requestToChat.toFixed(2)}×`,
        short(figure.usPerEvent),
        `${figure.eventToChat.toFixed(2)}×`,
      ]),
    ]),
    boundsTable(bounds),
  ].join('\n\n');
}

/** What this checkout costs beside another. */
export function againstText({ rounds }: AgainstFigures, bounds: readonly Bound[]): string {
  return [
    boundsTable(bounds),
    `Medians of the ratios within ${rounds} rounds, of several pairs of processes.`,
  ].join('\n\n');
}
