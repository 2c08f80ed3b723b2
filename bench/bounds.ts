import type { AgainstFigures } from './against.ts';
import type { ConnectionFigures } from './connections.ts';
import type { Ended } from './children.ts';
import type { IdleFigures } from './idle.ts';
import type { ProtocolFigures } from './protocols.ts';
import type { RegistryFigures } from './registry.ts';
import type { SoakFigures } from './soak.ts';
import type { Summary } from './summary.ts';

/** One promise about speed, held against what was measured (docs/performance.md). */
export interface Bound {
  readonly what: string;
  readonly unit: '×' | ' ms' | ' MB' | ' %';
  readonly measured: number;
  readonly most: number;
  readonly goal: number | null;
}

/** What `npm run bench` holds the gateway to. */
export function boundsOf(summary: Summary, stopped: Ended): readonly Bound[] {
  const ratio = (
    what: string,
    measured: number | undefined,
    most: number,
    goal: number,
  ): Bound => ({
    what,
    unit: '×',
    measured: measured ?? Number.NaN,
    most,
    goal,
  });
  return [
    ratio('CPU per request, to bare', summary.cpuUsPerRequest.toBare?.value, 1.25, 0.7),
    ratio('CPU per SSE event, to bare', summary.cpuUsPerEvent.toBare?.value, 1.1, 0.65),
    ratio('added TTFT p99, to bare', summary.addedFirstTokenP99Us.toBare?.value, 1.3, 1.05),
    {
      what: 'failover tax, `local` refused, over direct',
      unit: ' ms',
      measured: summary.failoverOverDirectUs / 1000,
      most: 5,
      goal: 1,
    },
    {
      what: 'failover tax, circuit open, over direct',
      unit: ' ms',
      measured: summary.openCircuitOverDirectUs / 1000,
      most: 1,
      goal: 0.1,
    },
    {
      what: `SIGTERM to the end, exit code ${stopped.code ?? 'none'}`,
      unit: ' ms',
      measured: stopped.code === 0 ? stopped.ms : Infinity,
      most: 1000,
      goal: null,
    },
  ];
}

/** What it holds many connections to; that no stream is wrong or missing is held by the load generator. */
export function connectionBoundsOf({ idle, streams }: ConnectionFigures): readonly Bound[] {
  const memory = (what: string, measured: number, most: number): Bound => ({
    what,
    unit: ' MB',
    measured,
    most,
    goal: null,
  });
  return [
    memory(`RSS with ${idle.connections} idle connections`, idle.rssMb, 500),
    memory(`RSS with ${streams.connections} streams`, streams.rssMb, 1000),
  ];
}

/** What it holds the registry to, with ten thousand machines. */
export function registryBoundsOf(figures: RegistryFigures): readonly Bound[] {
  const most = (what: string, measured: number, bound: number): Bound => ({
    what,
    unit: ' ms',
    measured,
    most: bound,
    goal: null,
  });
  return [
    most('event loop late, p99', figures.delay.p99Ms, 20),
    most('the whole list', figures.listMs, 150),
    most('a page of 50', figures.pageMs, 5),
    most('status report', figures.statusMs, 50),
  ];
}

/** What it holds a million requests to. */
export function soakBoundsOf({ beforeMb, afterMb }: SoakFigures): readonly Bound[] {
  const what = 'RSS growth over a million requests';
  return [{ what, unit: ' MB', measured: afterMb - beforeMb, most: 16, goal: null }];
}

/** What it holds the whole program to while nobody asks for anything. */
export function idleBoundsOf({ cpuPercent, rssMb, delay }: IdleFigures): readonly Bound[] {
  return [
    { what: 'CPU of one core', unit: ' %', measured: cpuPercent, most: 1, goal: null },
    { what: 'RSS, the most that was seen', unit: ' MB', measured: rssMb, most: 150, goal: null },
    { what: 'event loop late, p99', unit: ' ms', measured: delay.p99Ms, most: 20, goal: null },
  ];
}

/** What a change may cost where nothing breaks. */
export function againstBoundsOf({ perRequest, perEvent }: AgainstFigures): readonly Bound[] {
  const bound = (what: string, measured: number): Bound => ({
    what,
    unit: '×',
    measured,
    most: 1.03,
    goal: null,
  });
  return [
    bound('CPU per request, to the other checkout', perRequest),
    bound('CPU per SSE event, to the other checkout', perEvent),
  ];
}

/** What a protocol may cost that is passed on as it is; translation is shown without a bound. */
export function protocolBoundsOf(figures: readonly ProtocolFigures[]): readonly Bound[] {
  return figures
    .filter(({ api, way }) => api !== 'chat' && way === 'native')
    .map(({ api, eventToChat }) => ({
      what: `CPU per SSE event of ${api}, native, to chat`,
      unit: '×',
      measured: eventToChat,
      most: 1.1,
      goal: null,
    }));
}

/** In one word; what could not be measured is not met. */
export function verdict({ measured, most, goal }: Bound): 'goal met' | 'met' | 'MISSED' {
  if (goal !== null && measured <= goal) return 'goal met';
  return measured <= most ? 'met' : 'MISSED';
}
