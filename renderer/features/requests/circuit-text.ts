import type { AttemptRow } from '#shared/live.ts';
import { t } from '../../text/t.ts';

/** `closed`, or what the attempt changed, such as `closed → open`. */
export function circuitText({
  circuitBefore,
  circuitAfter,
}: Pick<AttemptRow, 'circuitBefore' | 'circuitAfter'>): string {
  const { circuits, circuitChange } = t.attempts;
  const before = circuits[circuitBefore];
  if (circuitAfter === null || circuitAfter === circuitBefore) return before;
  return circuitChange(before, circuits[circuitAfter]);
}
