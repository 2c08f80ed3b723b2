import type { AttemptRow } from '#shared/live.ts';

/** `closed`, or what the attempt changed, such as `closed → open`. */
export function circuitText({
  circuitBefore,
  circuitAfter,
}: Pick<AttemptRow, 'circuitBefore' | 'circuitAfter'>): string {
  const before = WORDS[circuitBefore];
  if (circuitAfter === null || circuitAfter === circuitBefore) return before;
  return `${before} → ${WORDS[circuitAfter]}`;
}

const WORDS = {
  closed: 'closed',
  open: 'open',
  probing: 'testing',
} as const satisfies Record<AttemptRow['circuitBefore'], string>;
