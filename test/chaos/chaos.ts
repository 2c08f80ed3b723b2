import type { ChaosArena, Played } from './arena.ts';
import { type End, ENDS } from './judge.ts';

/** What a run came to. */
export interface Outcome {
  readonly counts: Readonly<Record<End, number>>;
  /** How many requests did not end as they must. */
  readonly wrong: number;
  /** What was left of requests that had ended. */
  readonly left: readonly string[];
}

interface Plan {
  readonly requests: number;
  readonly onWrong: (played: Played) => void;
  /** Called after each round, while nothing is going on. */
  readonly onRest?: () => void;
  readonly isOver?: () => boolean;
}

const CALLERS = 40;
/** Nothing must be left of a round before the next one begins. */
export const ROUND_REQUESTS = 1000;

/** Plays the requests of the arena's seed from 0 on, many at a time. */
export async function playAll(arena: ChaosArena, plan: Plan): Promise<Outcome> {
  const { requests, onWrong, onRest = () => {}, isOver = () => false } = plan;
  const counts = Object.fromEntries(ENDS.map((end) => [end, 0])) as Record<End, number>;
  const left: string[] = [];
  let wrong = 0;

  async function caller(numbers: Iterator<number>): Promise<void> {
    for (let next = numbers.next(); next.done !== true; next = numbers.next()) {
      const played = await arena.play(next.value);
      counts[played.end] += 1;
      if (played.findings.length === 0) continue;
      wrong += 1;
      onWrong(played);
    }
  }

  for (let first = 0; first < requests && !isOver(); first += ROUND_REQUESTS) {
    const numbers = numbersFrom(first, Math.min(requests, first + ROUND_REQUESTS));
    await Promise.all(Array.from({ length: CALLERS }, () => caller(numbers)));
    left.push(...(await arena.rest()));
    onRest();
  }
  return { counts, wrong, left };
}

function* numbersFrom(first: number, end: number): Generator<number, void> {
  for (let n = first; n < end; n += 1) yield n;
}

/** In one line. */
export function outcomeText({ counts, wrong }: Outcome): string {
  const ends = ENDS.map((end) => `${counts[end]} ${end}`);
  return `${ends.join(', ')}; ${wrong} wrong`;
}
