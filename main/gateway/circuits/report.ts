import type { CircuitReport, UpstreamReport } from '#shared/status.ts';
import { isoTime } from '../../platform/dates.ts';
import type { Breaker } from './breaker.ts';
import { endsAtMs, type DualTime, remainingMs } from '../../platform/clock.ts';
import { activeExclusions, type Exclusions } from './exclusions.ts';

/** A provider's circuit record (docs/reference/http-api.md#status-report). */
export type ProviderCircuitReport = Omit<
  CircuitReport,
  'ewmaTtft' | 'lastTtftMs' | 'consecutiveSlow'
>;

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
    // Rounded up: 0 means that the next request is admitted.
    cooldownRemainingMs: isOpen ? Math.ceil(remainingMs(state.until, now)) : 0,
  };
}

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
export function exclusionReports(exclusions: Exclusions, now: DualTime): UpstreamReport['skips'] {
  return activeExclusions(exclusions, now).map((each) => ({
    reason: each.reason,
    until: isoTime(endsAtMs(each.until, now)),
    ...(each.reason === 'model_not_found' ? { model: each.model } : {}),
  }));
}

function timeOrNull(wallMs: number | null): string | null {
  return wallMs === null ? null : isoTime(wallMs);
}
