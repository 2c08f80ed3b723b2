import { formatCount, formatCountdown, formatMoment } from '../../text/format.ts';
import type { Fact } from './provider-facts.ts';
import type { ProviderCircuit } from './provider-standing.ts';
import { t } from '../../text/t.ts';

/** The gateway's clock, and the age of the report, by which its countdowns have advanced; in milliseconds. */
export interface ReportAge {
  readonly elapsedMs: number;
  readonly serverNow: number;
}

const words = t.providers.circuit;

/** A machine's circuit as facts. */
export function circuitFacts(
  circuit: ProviderCircuit | undefined,
  { elapsedMs, serverNow }: ReportAge,
): readonly Fact[] {
  if (!circuit) return [{ label: words.state, value: words.unused }];
  const at = (time: string | null): string =>
    time === null ? words.never : formatMoment(Date.parse(time), serverNow);
  return [
    { label: words.state, value: stateText(circuit, elapsedMs) },
    { label: words.row, value: formatCount(circuit.consecutiveFails) },
    { label: words.failed, value: formatCount(circuit.fails) },
    { label: words.answered, value: formatCount(circuit.successes) },
    { label: words.lastAnswer, value: at(circuit.lastSuccessAt) },
    { label: words.lastFailure, value: at(circuit.lastFailAt) },
    { label: words.lastError, value: circuit.lastError ?? words.noError },
  ];
}

function stateText({ open, cooldownRemainingMs }: ProviderCircuit, elapsedMs: number): string {
  if (!open) return words.closed;
  const leftMs = Math.max(0, cooldownRemainingMs - elapsedMs);
  return leftMs === 0 ? words.open : words.openFor(formatCountdown(leftMs));
}
