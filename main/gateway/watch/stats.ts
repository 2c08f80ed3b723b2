import { mapUpstreams, type UpstreamId } from '#shared/ids.ts';

/** Counters: the totals over restarts, what is in flight since the start. */
export interface StatsView {
  readonly totalRequests: number;
  readonly fallbackCount: number;
  /** Second attempts that were sent beside a slow first one. */
  readonly hedges: number;
  /** Answers that broke off and that another upstream went on with. */
  readonly handovers: number;
  readonly inFlight: Readonly<Record<UpstreamId, number>>;
}

type Totals = Omit<StatsView, 'inFlight'>;

/** Counts requests; what happens at an upstream is counted by its circuit. */
export interface Stats {
  accepted(): void;
  fellBack(): void;
  hedged(): void;
  handedOver(): void;
  /** A request begins to occupy an upstream or a provider. */
  entered(id: string): void;
  /** However it went, the request occupies it no longer. */
  left(id: string): void;
  /** Requests that occupy an upstream or a provider. */
  inFlightAt(id: string): number;
  view(): StatsView;
  /** Takes the totals of an earlier run. */
  restore(totals: Totals): void;
}

/** Makes empty counters. */
export function createStats(): Stats {
  let totalRequests = 0;
  let fallbackCount = 0;
  let hedges = 0;
  let handovers = 0;
  const occupied = new Map<string, number>();
  const inFlightAt = (id: string) => occupied.get(id) ?? 0;
  return {
    accepted: () => void (totalRequests += 1),
    fellBack: () => void (fallbackCount += 1),
    hedged: () => void (hedges += 1),
    handedOver: () => void (handovers += 1),
    entered: (id) => void occupied.set(id, inFlightAt(id) + 1),
    left(id) {
      const now = inFlightAt(id) - 1;
      if (now === 0) occupied.delete(id);
      else occupied.set(id, now);
    },
    inFlightAt,
    view: () => ({
      totalRequests,
      fallbackCount,
      hedges,
      handovers,
      inFlight: mapUpstreams(inFlightAt),
    }),
    restore: (totals) => void ({ totalRequests, fallbackCount, hedges, handovers } = totals),
  };
}
