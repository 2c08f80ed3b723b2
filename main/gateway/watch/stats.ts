import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';

/** Counters: the two totals over restarts, what is in flight since the start. */
export interface StatsView {
  readonly totalRequests: number;
  readonly fallbackCount: number;
  readonly inFlight: Readonly<Record<UpstreamId, number>>;
}

/** Counts requests; what happens at an upstream is counted by its circuit. */
export interface Stats {
  accepted(): void;
  fellBack(): void;
  /** A request begins to occupy an upstream. */
  entered(id: UpstreamId): void;
  /** However it went, the request occupies it no longer. */
  left(id: UpstreamId): void;
  view(): StatsView;
  /** Takes the totals of an earlier run. */
  restore(totals: Pick<StatsView, 'totalRequests' | 'fallbackCount'>): void;
}

/** Makes empty counters. */
export function createStats(): Stats {
  let totalRequests = 0;
  let fallbackCount = 0;
  // Every id of the list becomes a key, which fromEntries cannot tell the compiler.
  const inFlight = Object.fromEntries(UPSTREAM_IDS.map((id) => [id, 0])) as Record<
    UpstreamId,
    number
  >;
  return {
    accepted: () => void (totalRequests += 1),
    fellBack: () => void (fallbackCount += 1),
    entered: (id) => void (inFlight[id] += 1),
    left: (id) => void (inFlight[id] -= 1),
    view: () => ({ totalRequests, fallbackCount, inFlight: { ...inFlight } }),
    restore: (totals) => void ({ totalRequests, fallbackCount } = totals),
  };
}
