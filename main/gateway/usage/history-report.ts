import { isUpstreamId } from '#shared/ids.ts';
import type { HistoryMachine, HistoryPoint, UsageHistory } from '#shared/usage.ts';
import type { HistoryQuery, HistoryRows } from './messages.ts';
import { NO_USAGE } from './tally.ts';

/** The query results in the form of the report. */
export function reportOf(
  found: HistoryRows,
  { from, stepMs }: HistoryQuery,
): Omit<UsageHistory, 'range' | 'to' | 'currency' | 'problem'> {
  return {
    from,
    stepMs,
    points: pointsOf(found),
    machines: machinesOf(found),
    parts: found.parts.flatMap(({ upstream, provider, model, figures }) =>
      isUpstreamId(upstream)
        ? [{ upstream, provider: provider || null, model: model || null, figures }]
        : [],
    ),
    keys: found.keys,
    today: found.today,
    thisMonth: found.thisMonth,
  };
}

function machinesOf({ machines }: HistoryRows): readonly HistoryMachine[] {
  const byMachine = Object.entries(Object.groupBy(machines, ({ provider }) => provider));
  const callsOf = ([provider, rows = []]: (typeof byMachine)[number]) =>
    provider === '' ? -1 : rows.reduce((sum, { figures }) => sum + figures.calls, 0);
  return byMachine
    .toSorted((a, b) => callsOf(b) - callsOf(a))
    .map(([provider, rows = []]) => ({
      provider: provider || null,
      points: rows.map(({ at, figures }) => ({ at, figures })),
    }));
}

function pointsOf({ points }: HistoryRows): readonly HistoryPoint[] {
  const byTime = new Map<number, HistoryPoint>();
  for (const { at, upstream, figures } of points) {
    const point = byTime.get(at) ?? { at, figures: NO_USAGE, upstreams: {} };
    byTime.set(
      at,
      upstream === ''
        ? { ...point, figures }
        : { ...point, upstreams: { ...point.upstreams, [upstream]: figures } },
    );
  }
  return [...byTime.values()];
}
