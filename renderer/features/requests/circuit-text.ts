import type { AttemptRow } from '#shared/live.ts';
import { t } from '../../text/t.ts';

/** The circuit's state, as in `closed`, or its change by the attempt, as in `closed → open`. */
export function circuitText({
  circuitBefore,
  circuitAfter,
}: Pick<AttemptRow, 'circuitBefore' | 'circuitAfter'>): string {
  const { circuits, circuitChange } = t.attempts;
  const before = circuits[circuitBefore];
  if (circuitAfter === null || circuitAfter === circuitBefore) return before;
  return circuitChange(before, circuits[circuitAfter]);
}
