import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Clock } from '../platform/clock.ts';
import {
  failedAt,
  firstContentAt,
  succeededAt,
  UNUSED,
  type HealthRecord,
} from './health-record.ts';

/** Counters since the start. */
export interface StatsView {
  readonly totalRequests: number;
  readonly fallbackCount: number;
  readonly inFlight: Readonly<Record<UpstreamId, number>>;
  readonly records: Readonly<Record<UpstreamId, HealthRecord>>;
}

/** Counts what happens; each method is one thing that can happen. */
export interface Stats {
  accepted(): void;
  fellBack(): void;
  /** A request begins to occupy an upstream. */
  entered(id: UpstreamId): void;
  /** However it went, the request occupies it no longer. */
  left(id: UpstreamId): void;
  sent(id: UpstreamId): void;
  firstContent(id: UpstreamId, ttftMs: number, slowAfterMs: number): void;
  succeeded(id: UpstreamId): void;
  failed(id: UpstreamId, error: string): void;
  view(): StatsView;
}

/** Makes empty counters. */
export function createStats(clock: Clock): Stats {
  let totalRequests = 0;
  let fallbackCount = 0;
  const inFlight = perUpstream(0);
  const records = perUpstream(UNUSED);
  return {
    accepted: () => void (totalRequests += 1),
    fellBack: () => void (fallbackCount += 1),
    entered: (id) => void (inFlight[id] += 1),
    left: (id) => void (inFlight[id] -= 1),
    sent(id) {
      records[id] = { ...records[id], requests: records[id].requests + 1 };
    },
    firstContent(id, ttftMs, slowAfterMs) {
      records[id] = firstContentAt(records[id], ttftMs, clock.ticks(), slowAfterMs);
    },
    succeeded: (id) => void (records[id] = succeededAt(records[id], clock.now())),
    failed: (id, error) => void (records[id] = failedAt(records[id], clock.now(), error)),
    view: () => ({
      totalRequests,
      fallbackCount,
      inFlight: { ...inFlight },
      records: { ...records },
    }),
  };
}

function perUpstream<T>(value: T): Record<UpstreamId, T> {
  // Every id of the list becomes a key, which fromEntries cannot tell the compiler.
  return Object.fromEntries(UPSTREAM_IDS.map((id) => [id, value])) as Record<UpstreamId, T>;
}
