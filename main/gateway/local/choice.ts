import type { LocalTarget } from '../request/upstreams.ts';
import { shuffled } from './shuffled.ts';

/** A machine of the local tier, as routing chooses among them. */
export interface Candidate {
  readonly target: LocalTarget;
  /** Its time-decayed time to first token in milliseconds; null while it is unknown. */
  readonly ewmaTtft: number | null;
  /** The time to first token that this prompt is predicted to take there; null where nobody can tell. */
  readonly predictedTtft: number | null;
  /** Requests that it serves now. */
  readonly inFlight: number;
}

/** So many machines one request is sent to at most (design 7). */
export const MAX_TRIES = 3;
/** Below it, time says nothing; a cost of 0 would stay 0 under any load. */
const SHORTEST_TTFT_MS = 1;

/**
 * Those whom one request may be sent to, in order: each the better one of two that chance picked, by time
 * to first token and load. The best of all would be everybody's choice at once. What is predicted for the
 * prompt goes before the mean of a machine's others. `standing` is null for a machine that is out;
 * `meanTtft` stands for one that is not known yet.
 */
export function chooseInOrder(
  targets: readonly LocalTarget[],
  standing: (target: LocalTarget) => Candidate | null,
  meanTtft: number | null,
  random: () => number,
): LocalTarget[] {
  const costOf = ({ predictedTtft, ewmaTtft, inFlight }: Candidate) => {
    const ttftMs = predictedTtft ?? ewmaTtft ?? meanTtft ?? SHORTEST_TTFT_MS;
    return Math.max(ttftMs, SHORTEST_TTFT_MS) * (inFlight + 1);
  };
  const chosen: LocalTarget[] = [];
  let rival: Candidate | null = null;
  for (const index of shuffled(targets.length, random)) {
    const target = targets[index];
    const next = target === undefined ? null : standing(target);
    if (next === null) continue;
    if (rival === null) {
      rival = next;
      continue;
    }
    const isBetter: boolean = costOf(next) < costOf(rival);
    chosen.push(isBetter ? next.target : rival.target);
    if (!isBetter) rival = next;
    if (chosen.length === MAX_TRIES) return chosen;
  }
  return rival === null ? chosen : [...chosen, rival.target];
}
