import type { Ended } from './children.ts';
import type { Summary } from './summary.ts';

/** One promise about speed, held against what was measured (design 12). */
export interface Bound {
  readonly what: string;
  readonly unit: '×' | ' ms';
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

/** In one word; what could not be measured is not met. */
export function verdict({ measured, most, goal }: Bound): 'goal met' | 'met' | 'MISSED' {
  if (goal !== null && measured <= goal) return 'goal met';
  return measured <= most ? 'met' : 'MISSED';
}
