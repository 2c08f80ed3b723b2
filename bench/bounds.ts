import {
  AXES,
  FASTER,
  steepnessOf,
  unitCostsOf,
  type AxisName,
  type UnitCost,
} from './growth/axis.ts';
import type { GrowthFigures } from './growth/growth.ts';
import type { Bound } from './kit/bound.ts';
import type { Ended } from './kit/children.ts';
import type { IdleFigures } from './memory/idle.ts';
import type { SoakFigures } from './memory/soak.ts';
import type { PoolFigures } from './pool/pool.ts';
import { toAlone } from './pool/report.ts';
import type { RegistryFigures } from './registry/registry.ts';
import type { AgainstFigures } from './relay/against.ts';
import type { ProtocolFigures } from './relay/protocols.ts';
import type { Memory } from './relay/report.ts';
import type { Summary } from './relay/summary.ts';
import type { StartFigures } from './start/start.ts';

/**
 * All bounds. `most` is what a run on a machine that is busy with other work still keeps; `aim` is what a quiet run
 * should come to.
 */

/** What `npm run bench` holds the gateway to. */
export function boundsOf(summary: Summary, memory: Memory, stopped: Ended): readonly Bound[] {
  const toBare = ({ toBare: { gateway } }: Summary['cpuUsPerRequest']) =>
    gateway?.value ?? Number.NaN;
  const ratio = (what: string, measured: number, most: number, aim: number): Bound => ({
    what: `${what}, to bare`,
    unit: '×',
    measured,
    most,
    aim,
  });
  return [
    ratio('CPU per request', toBare(summary.cpuUsPerRequest), 2.2, 1.25),
    ratio('CPU per SSE event', toBare(summary.cpuUsPerEvent), 1.3, 0.9),
    // One pause of the collector in one round decides it: 0.8 to 15 times were seen in five rounds of a quiet run.
    ratio('added TTFT p99', toBare(summary.addedFirstTokenP99Us), 6, 1),
    {
      what: 'RSS loaded, over bare',
      unit: ' MB',
      measured: (memory.gateway?.loadedMb ?? Number.NaN) - (memory.bare?.loadedMb ?? Number.NaN),
      most: 120,
      aim: 60,
    },
    {
      what: 'failover tax, `local` refused, over direct',
      unit: ' ms',
      measured: summary.failoverOverDirectUs / 1000,
      most: 5,
      aim: 1,
    },
    {
      what: 'failover tax, circuit open, over direct',
      unit: ' ms',
      measured: summary.openCircuitOverDirectUs / 1000,
      most: 1,
      aim: 0.1,
    },
    {
      what: `SIGTERM to the end, exit code ${stopped.code ?? 'none'}`,
      unit: ' ms',
      measured: stopped.code === 0 ? stopped.ms : Infinity,
      most: 1000,
      aim: null,
    },
  ];
}

/** What it holds growth to; that no stream is wrong or missing is held by the load generator. */
export function growthBoundsOf(figures: GrowthFigures): readonly Bound[] {
  return (Object.keys(figures) as AxisName[]).flatMap((name) => {
    const axis = AXES[name];
    const points = figures[name]?.gateway ?? [];
    const { cpu, memory } = unitCostsOf(axis, points);
    const { title, sizeName } = axis;
    const steeper = (what: string, cost: UnitCost): Bound => ({
      what: `${what} of one more of the greatest ${sizeName}, to one before`,
      unit: '×',
      measured: steepnessOf(cost),
      most: 3,
      aim: FASTER,
    });
    const rss: Bound = {
      what: `RSS at the greatest: ${title}`,
      unit: ' MB',
      measured: points.at(-1)?.rssMb ?? Number.NaN,
      most: 1000,
      aim: null,
    };
    const [most, aim] = UNIT_KB[name] ?? [];
    const kb =
      most === undefined
        ? []
        : [
            {
              what: `memory for one of the ${sizeName}`,
              unit: ' KB' as const,
              measured: memory.last,
              most,
              aim: aim ?? null,
            },
          ];
    return [steeper('CPU', cpu), steeper('memory', memory), rss, ...kb];
  });
}

/** KB for one more, where that is of interest: at most, and the aim. */
const UNIT_KB: Readonly<Partial<Record<AxisName, readonly [most: number, aim: number]>>> = {
  streams: [80, 16],
  idle: [20, 10],
};

/** What it holds a start to. */
export function startBoundsOf(figures: StartFigures): readonly Bound[] {
  return [
    {
      what: 'start of the package to `/healthz`',
      unit: ' ms',
      measured: figures.package.healthMs.value,
      most: 3000,
      aim: 300,
    },
    {
      what: 'first request after it',
      unit: ' ms',
      measured: figures.package.firstRequestMs.value,
      most: 500,
      aim: 15,
    },
  ];
}

/** What it holds the registry to, with ten thousand machines. */
export function registryBoundsOf(figures: RegistryFigures): readonly Bound[] {
  const most = (what: string, measured: number, bound: number): Bound => ({
    what,
    unit: ' ms',
    measured,
    most: bound,
    aim: null,
  });
  return [
    most('event loop late, p99', figures.delay.p99Ms, 20),
    most('the whole list', figures.listMs, 150),
    most('a page of 50', figures.pageMs, 5),
    most('status report', figures.statusMs, 50),
  ];
}

/**
 * What it holds several gateways to, with ten and thirty thousand machines. With the latter two cores are full, and then
 * each program waits for its turn.
 */
export function poolBoundsOf(all: readonly PoolFigures[]): readonly Bound[] {
  return all
    .filter(({ machines, gateways }) => machines >= 10_000 && gateways > 1)
    .flatMap((figures): Bound[] => {
      const at = `${figures.machines} machines, ${figures.gateways} gateways`;
      const slack = figures.machines > 10_000 ? 20 : 2;
      const cpu = toAlone(figures, all);
      const ms = (what: string, measured: number, aim: number): Bound => {
        return { what: `${what}, ${at}`, unit: ' ms', measured, most: slack * aim, aim };
      };
      return [
        { what: `CPU to SQLite, ${at}`, unit: '×', measured: cpu, most: 3, aim: 1.5 },
        ms('lag p99', figures.lag?.p99Ms ?? Number.NaN, 500),
        ms('event loop late, p99', figures.loopP99Ms, 20),
      ];
    });
}

/** What it holds a million requests to. */
export function soakBoundsOf({ beforeMb, afterMb }: SoakFigures): readonly Bound[] {
  const what = 'RSS growth over a million requests';
  return [{ what, unit: ' MB', measured: afterMb - beforeMb, most: 16, aim: null }];
}

/** What it holds the whole program to while nobody asks for anything. */
export function idleBoundsOf({ cpuPercent, rssMb }: IdleFigures): readonly Bound[] {
  return [
    { what: 'CPU of one core', unit: ' %', measured: cpuPercent, most: 1, aim: null },
    { what: 'RSS, the most that was seen', unit: ' MB', measured: rssMb, most: 150, aim: null },
  ];
}

/** What a change may cost where nothing breaks. */
export function againstBoundsOf({ perRequest, perEvent }: AgainstFigures): readonly Bound[] {
  const bound = (what: string, measured: number): Bound => ({
    what,
    unit: '×',
    measured,
    most: 1.03,
    aim: null,
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
      aim: null,
    }));
}
