import type { RequestRow, UnexplainedMove } from '#shared/live.ts';
import type { Clock } from '../../platform/clock.ts';

/*
 * Requests that move on from an upstream again and again for the same words that nothing here explains. The words may
 * repeat a prompt, so that they are kept in memory only.
 */

const WITHIN_MS = 3_600_000;
/** So often within an hour is no accident. */
const SHOWN_FROM = 3;
/** The most that are kept, each of other words or another app; the one that was seen longest ago is dropped. */
const MAX_KEPT = 50;
const MAX_TIMES = 1000;

interface Moves extends Omit<UnexplainedMove, 'count'> {
  /** When the last ones were, in wall-clock milliseconds. */
  readonly times: readonly number[];
}

export type MoveTally = ReturnType<typeof createMoves>;

export function createMoves(clock: Clock) {
  const known = new Map<string, Moves>();
  const recent = ({ times }: Moves) => times.filter((at) => at > clock.now() - WITHIN_MS);
  return {
    ended(row: RequestRow) {
      for (const { upstream, words } of unexplained(row)) {
        const { caller, key } = row;
        const app = key ?? caller.userAgent;
        const id = JSON.stringify([upstream, alike(words), app]);
        const before = known.get(id);
        known.delete(id);
        known.set(id, {
          upstream,
          words,
          key,
          caller,
          times: [...(before === undefined ? [] : recent(before)), clock.now()].slice(-MAX_TIMES),
          spentNano: (before?.spentNano ?? 0) + row.spentNano,
        });
        const [oldest] = known.keys();
        if (known.size > MAX_KEPT && oldest !== undefined) known.delete(oldest);
      }
    },
    view: (): readonly UnexplainedMove[] =>
      [...known.values()].flatMap((each) => {
        const { times: _, ...move } = each;
        const count = recent(each).length;
        return count < SHOWN_FROM ? [] : [{ ...move, count }];
      }),
  };
}

/** The attempts that were refused without a named reason, after which another one was made. */
function unexplained({ attempts }: RequestRow) {
  return attempts.slice(0, -1).flatMap(({ upstream, reason, error }, index) => {
    const hasMoved = attempts[index + 1]?.upstream !== upstream;
    const isUnexplained = /^http_4\d\d$/.test(reason ?? '');
    return hasMoved && isUnexplained ? [{ upstream, words: error ?? reason ?? '' }] : [];
  });
}

/** Words that differ in numbers and in what they quote say the same. */
const alike = (words: string): string =>
  words.replaceAll(/\d+/g, '0').replaceAll(/"[^"]*"|'[^']*'|`[^`]*`/g, '""');
