import type { RequestRow } from '#shared/live.ts';
import { machinesIn } from '#shared/machine-names.ts';
import { countsOf, FACETS, facetsOf, matchesFilter } from '#shared/request-filter.ts';
import type { RequestPage, RequestsWanted } from '#shared/request-page.ts';

/** Callers choose model names, so there may be any number; a longer list to choose from helps nobody. */
const MAX_VALUES = 200;

/** The requested page of `rows`, which are requests that have ended, newest first. */
export function pageOf(
  rows: readonly RequestRow[],
  { filter, by, before, limit }: RequestsWanted,
): RequestPage {
  const facets = facetsOf(rows, filter, by);
  const shortened = FACETS.map((facet) => [facet, facets[facet].slice(0, MAX_VALUES)]);
  const matching = rows.filter(
    (row) => row.startedAt <= (before ?? Infinity) && matchesFilter(row, filter, by),
  );
  return {
    data: matching.toSorted((a, b) => b.startedAt - a.startedAt).slice(0, limit),
    counts: countsOf(rows, by),
    facets: Object.fromEntries(shortened) as RequestPage['facets'],
    machines: machinesIn(rows),
  };
}
