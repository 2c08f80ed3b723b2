import type { CircuitReport, UpstreamReport } from '#shared/status.ts';
import { isoTime } from '../../platform/dates.ts';
import type { Breaker } from './breaker.ts';
import { endsAtMs, type DualTime, remainingMs } from './deadline.ts';
import { activeExclusions, type Exclusions } from './exclusions.ts';

/** A provider's circuit record (docs/http-api.md#status-report). */
export type ProviderCircuitReport = Omit<
  CircuitReport,
  'ewmaTtft' | 'lastTtftMs' | 'consecutiveSlow'
>;

/** A provider's circuit record: an upstream's without the time to first token. */
export function providerCircuitReport(
  { health, state }: Breaker,
  now: DualTime,
): ProviderCircuitReport {
  const isOpen = state.kind !== 'closed';
  return {
    fails: health.fails,
    successes: health.successes,
    failUntil: isOpen ? isoTime(endsAtMs(state.until, now)) : null,
    lastError: health.lastError,
    lastFailAt: timeOrNull(health.lastFailAt),
    lastSuccessAt: timeOrNull(health.lastSuccessAt),
    consecutiveFails: health.consecutiveFails,
    open: isOpen,
    // Up, for 0 says that the next request is let in.
    cooldownRemainingMs: isOpen ? Math.ceil(remainingMs(state.until, now)) : 0,
  };
}

/** An upstream's circuit record (docs/http-api.md#status-report). */
export function circuitReport(breaker: Breaker, now: DualTime): CircuitReport {
  const { ttft, lastTtftMs, consecutiveSlow } = breaker.health;
  return {
    ...providerCircuitReport(breaker, now),
    ewmaTtft: ttft === null ? null : Math.round(ttft.value),
    lastTtftMs,
    consecutiveSlow,
  };
}

/** The exclusions in force, as `upstreams[].skips` shows them. */
export function exclusionReports(skips: Exclusions, now: DualTime): UpstreamReport['skips'] {
  return activeExclusions(skips, now).map((skip) => ({
    reason: skip.reason,
    until: isoTime(endsAtMs(skip.until, now)),
    ...(skip.reason === 'model_not_found' ? { model: skip.model } : {}),
  }));
}

function timeOrNull(wallMs: number | null): string | null {
  return wallMs === null ? null : isoTime(wallMs);
}
