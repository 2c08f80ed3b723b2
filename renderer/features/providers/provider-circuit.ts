import { formatCount, formatCountdown, formatMoment } from '../../text/format.ts';
import type { Fact } from './provider-facts.ts';
import type { ProviderCircuit } from './provider-standing.ts';

/** The gateway's clock, and how long ago the report came whose countdowns have gone on since. */
export interface ReportAge {
  readonly elapsedMs: number;
  readonly serverNow: number;
}

/** A machine's breaker in words. */
export function circuitFacts(
  circuit: ProviderCircuit | undefined,
  { elapsedMs, serverNow }: ReportAge,
): readonly Fact[] {
  if (!circuit) return [{ label: 'State', value: 'closed, never used' }];
  const at = (time: string | null): string =>
    time === null ? 'never' : formatMoment(Date.parse(time), serverNow);
  return [
    { label: 'State', value: stateText(circuit, elapsedMs) },
    { label: 'Failures in a row', value: formatCount(circuit.consecutiveFails) },
    { label: 'Failed in all', value: formatCount(circuit.fails) },
    { label: 'Answered in all', value: formatCount(circuit.successes) },
    { label: 'Last answer', value: at(circuit.lastSuccessAt) },
    { label: 'Last failure', value: at(circuit.lastFailAt) },
    { label: 'Last error', value: circuit.lastError ?? 'none' },
  ];
}

function stateText({ open, cooldownRemainingMs }: ProviderCircuit, elapsedMs: number): string {
  if (!open) return 'closed';
  const leftMs = Math.max(0, cooldownRemainingMs - elapsedMs);
  return leftMs === 0 ? 'open, tried next' : `open, tried in ${formatCountdown(leftMs)}`;
}
