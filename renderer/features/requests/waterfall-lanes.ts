import type { AttemptRow } from '#shared/live.ts';

/** A request has at most two calls at a time, so two lanes suffice. */
export type Lane = 0 | 1;

/**
 * The lane on which each attempt is drawn: the upper one if it is free. An attempt that resumes an answer is on the
 * other lane than the dropped one, so that the handover is visible.
 */
export function lanesOf(attempts: readonly AttemptRow[]): readonly Lane[] {
  const lanes: Lane[] = [];
  for (const attempt of attempts) {
    const broken = attempt.cause === 'resume' ? lanes[brokenBefore(attempts, lanes.length)] : null;
    if (broken === 0 || broken === 1) lanes.push(broken === 0 ? 1 : 0);
    else lanes.push(isTaken(0, attempts, lanes, attempt.startMs) ? 1 : 0);
  }
  return lanes;
}

/** Index of the last dropped answer before `index`; -1 if none. */
export function brokenBefore(attempts: readonly AttemptRow[], index: number): number {
  return attempts
    .slice(0, index)
    .findLastIndex(({ firstContentMs, reason }) => firstContentMs !== null && reason !== 'outrun');
}

function isTaken(
  lane: Lane,
  attempts: readonly AttemptRow[],
  lanes: readonly Lane[],
  atMs: number,
): boolean {
  return lanes.some((taken, index) => {
    const endMs = attempts[index]?.endMs ?? Infinity;
    return taken === lane && endMs > atMs;
  });
}
