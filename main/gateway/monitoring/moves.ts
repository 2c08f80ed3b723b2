import type { RequestRow, UnexplainedMove } from '#shared/live.ts';

const WITHIN_MS = 3_600_000;
/** So often within an hour is no accident. */
const SHOWN_FROM = 3;

/**
 * Requests that move on from an upstream again and again for the same words that nothing here explains, among `rows`, the
 * newest first.
 */
export function movesIn(rows: readonly RequestRow[], nowMs: number): readonly UnexplainedMove[] {
  const moved = rows
    .filter(({ startedAt, endMs }) => endMs !== null && startedAt + endMs > nowMs - WITHIN_MS)
    .flatMap((row) => unexplained(row).map((move) => ({ ...move, row })));
  const alikes = Map.groupBy(moved, ({ upstream, words, row: { key, caller } }) =>
    JSON.stringify([upstream, alike(words), key ?? caller.userAgent]),
  );
  return [...alikes.values()].flatMap((each) => {
    const [last] = each;
    if (last === undefined || each.length < SHOWN_FROM) return [];
    const { upstream, words, row } = last;
    const spentNano = each.reduce((sum, { row: { spentNano: nano } }) => sum + nano, 0);
    return [{ upstream, words, key: row.key, caller: row.caller, count: each.length, spentNano }];
  });
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
