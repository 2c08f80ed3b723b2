import type { AgainstFigures } from './against.ts';
import { verdict, type Bound } from './bounds.ts';
import type { ConnectionFigures, PhaseFigures } from './connections.ts';
import type { IdleFigures } from './idle.ts';
import type { ProtocolFigures } from './protocols.ts';
import type { RegistryFigures } from './registry.ts';
import type { SoakFigures } from './soak.ts';
import type { Comparison, Ratio, Summary } from './summary.ts';

/** Resident memory of the compared targets, before and after the load, in MB. */
export interface Memory {
  readonly name: string;
  readonly idleMb: number;
  readonly loadedMb: number;
}

/** The whole report, ready to be printed. */
export function reportText(
  summary: Summary,
  memory: readonly Memory[],
  bounds: readonly Bound[],
): string {
  return [
    table([
      ['', 'bare', 'nginx', 'gateway', 'gateway / bare', 'gateway / nginx'],
      comparisonRow('CPU µs per request', summary.cpuUsPerRequest),
      comparisonRow('CPU µs per SSE event', summary.cpuUsPerEvent),
      comparisonRow('added TTFT p50, µs', summary.addedFirstTokenP50Us),
      comparisonRow('added TTFT p99, µs', summary.addedFirstTokenP99Us),
    ]),
    [
      `Direct: TTFT p99 ${whole(summary.directFirstTokenP99Us)} µs on the way, without the upstream's own time.`,
      `Assembled answers (not bounded): ${short(summary.assembledCpuUsPerEvent)} CPU µs per event.`,
      `Failover, \`local\` refused: ${whole(summary.failoverOverDirectUs)} µs over direct, ${whole(summary.failoverOverGatewayUs)} µs over the gateway without \`local\`.`,
    ].join('\n'),
    table([
      ['RSS, MB', 'idle', 'loaded'],
      ...memory.map(({ name, idleMb, loadedMb }) => [name, whole(idleMb), whole(loadedMb)]),
    ]),
    boundsTable(bounds),
    'CPU: medians over the rounds, the ratio that of the ratios within a round (smallest to greatest); CPU time is\nuser and system time of all threads of the target. TTFT: over the streams of all rounds, less that of the upstream\nasked directly.',
  ].join('\n\n');
}

/** The report of the registry's part. */
export function registryText(figures: RegistryFigures, bounds: readonly Bound[]): string {
  const { machines, delay, fleet } = figures;
  return [
    `Registry: ${machines} machines, a heartbeat every 15 s each, a window open, checks going on.`,
    boundsTable(bounds),
    [
      `Event loop late: p50 ${short(delay.p50Ms)} ms, most ${short(delay.mostMs)} ms. Heartbeats: ${fleet.acknowledged} of ${fleet.sent} acknowledged, p50 ${short(fleet.ackP50Ms)} ms, p99 ${short(fleet.ackP99Ms)} ms; ${fleet.checked} checks answered.`,
      `First list ${whole(figures.firstListMs)} ms (${short(figures.listMb)} MB). Start ${whole(figures.startMs)} ms. RSS ${whole(figures.idleRssMb)} MB idle, ${whole(figures.loadedRssMb)} MB loaded.`,
    ].join('\n'),
  ].join('\n\n');
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
  return [boundsTable(bounds), `Medians of the ratios within ${rounds} rounds.`].join('\n\n');
}

/** What many connections cost. */
export function connectionsText(
  { before, idle, streams }: ConnectionFigures,
  bounds: readonly Bound[],
): string {
  const row = (name: string, { rssMb, healthP50Ms, healthP99Ms }: PhaseFigures) => [
    name,
    whole(rssMb),
    short(healthP50Ms),
    short(healthP99Ms),
  ];
  return [
    table([
      ['', 'RSS, MB', '/healthz p50, ms', '/healthz p99, ms'],
      row('nothing open', before),
      row(`${idle.connections} idle connections`, idle),
      row(`${streams.connections} streams`, streams),
    ]),
    `Streams: ${streams.events} events, ${short(streams.cpuUsPerEvent)} CPU µs each; added time to first token p50 ${short(streams.firstTokenP50Ms)} ms, p99 ${short(streams.firstTokenP99Ms)} ms.`,
    boundsTable(bounds),
  ].join('\n\n');
}

/** What idling cost. */
export function idleText({ minutes, delay }: IdleFigures, bounds: readonly Bound[]): string {
  const what = `Gateway, registry and agent with an engine and a GPU tool, idle for ${minutes.toFixed(1)} minutes.`;
  const late = `Event loop late: p50 ${short(delay.p50Ms)} ms, most ${short(delay.mostMs)} ms.`;
  return [what, boundsTable(bounds), late].join('\n\n');
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

export function boundsTable(bounds: readonly Bound[]): string {
  return table([['bound', 'measured', 'at most', 'goal', ''], ...bounds.map(boundRow)]);
}

function comparisonRow(name: string, { values, toBare, toNginx }: Comparison): string[] {
  const value = (number: number | null) => (number === null ? '–' : short(number));
  return [
    name,
    value(values.bare),
    value(values.nginx),
    value(values.gateway),
    ratioText(toBare),
    ratioText(toNginx),
  ];
}

function ratioText(ratio: Ratio | null): string {
  if (ratio === null) return '–';
  const { value, range } = ratio;
  const rounds = range === null ? '' : ` (${range.from.toFixed(2)} to ${range.to.toFixed(2)})`;
  return `${value.toFixed(2)}×${rounds}`;
}

function boundRow(bound: Bound): string[] {
  const { what, unit, measured, most, goal } = bound;
  const digits = unit === '×' ? 2 : 1;
  return [
    what,
    Number.isFinite(measured) ? `${measured.toFixed(digits)}${unit}` : '–',
    `${most}${unit}`,
    goal === null ? '–' : `${goal}${unit}`,
    verdict(bound),
  ];
}

export const whole = (value: number) => value.toFixed(0);
export const short = (value: number) =>
  Math.abs(value) < 100 ? value.toFixed(1) : value.toFixed(0);

/** Columns as wide as their widest cell; the first is words, the others stand to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const width = widths[column] ?? 0;
          return column === 0 ? cell.padEnd(width) : cell.padStart(width);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
