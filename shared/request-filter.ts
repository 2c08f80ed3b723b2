import { parseFallbackReason } from './reasons.ts';
import { OUTCOMES, type RequestRow, outcomeOf } from './live.ts';
import type { MachineNames } from './ids.ts';

/** Filters by outcome, in the order in which they are offered. */
export const REQUEST_FILTERS = ['all', ...OUTCOMES] as const;

export type RequestFilter = (typeof REQUEST_FILTERS)[number];

export const FACETS = ['upstream', 'machine', 'model', 'key', 'reason'] as const;
export type Facet = (typeof FACETS)[number];

/** How many requests are kept of each outcome, and of cancelled ones. */
export const KEPT_PER_OUTCOME = 1000;

/** What the shown requests have in common besides their outcome. */
export type Narrowing = Readonly<Partial<Record<Facet | 'text', string>>>;

export function matchesFilter(row: RequestRow, filter: RequestFilter, by: Narrowing = {}): boolean {
  if (filter !== 'all' && outcomeOf(row) !== filter) return false;
  const isWanted = (facet: Facet) => by[facet] === undefined || hasValue(row, facet, by[facet]);
  return (
    FACETS.every(isWanted) && (by.text === undefined || containsText(row, by.text.toLowerCase()))
  );
}

export type FilterCounts = Readonly<Record<RequestFilter, number>>;

/** How many of the rows match each filter. */
export function countsOf(rows: readonly RequestRow[], by: Narrowing): FilterCounts {
  const narrowed = rows.filter((row) => matchesFilter(row, 'all', by));
  const count = (filter: RequestFilter) => narrowed.filter((row) => matchesFilter(row, filter));
  const counted = REQUEST_FILTERS.map((filter) => [filter, count(filter).length]);
  return Object.fromEntries(counted) as Record<RequestFilter, number>;
}

export type FacetValues = Readonly<Record<Facet, readonly string[]>>;

/** The values to narrow the rows by: a facet ignores its own choice, so that another value can be chosen in it. */
export function facetsOf(
  rows: readonly RequestRow[],
  filter: RequestFilter,
  by: Narrowing,
): FacetValues {
  const matching = rows.filter((row) => matchesFilter(row, filter, by));
  const leftBy = (facet: Facet) => {
    const { [facet]: chosen, ...others } = by;
    return chosen === undefined
      ? matching
      : rows.filter((row) => matchesFilter(row, filter, others));
  };
  const values = FACETS.map((facet) => [facet, valuesOf(leftBy(facet), facet)]);
  return Object.fromEntries(values) as Record<Facet, readonly string[]>;
}

/** The values of a facet, in alphabetical order. */
function valuesOf(rows: readonly RequestRow[], facet: Facet): readonly string[] {
  return [...new Set(rows.flatMap((row) => FACET_VALUES[facet](row)))].toSorted();
}

function hasValue(row: RequestRow, facet: Facet, value: string): boolean {
  return FACET_VALUES[facet](row).includes(value);
}

const FACET_VALUES: Readonly<Record<Facet, (row: RequestRow) => readonly string[]>> = {
  upstream: ({ attempts, fallbackReason }) => [
    ...attempts.map(({ upstream }) => upstream),
    ...parseFallbackReason(fallbackReason).map(({ upstream }) => upstream),
  ],
  machine: ({ attempts }) => attempts.flatMap(({ provider }) => provider ?? []),
  model: ({ model, attempts }) => [
    ...(model === null ? [] : [model]),
    ...attempts.flatMap((attempt) => attempt.model ?? []),
  ],
  key: ({ key }) => (key === null ? [] : [key]),
  reason: ({ attempts, fallbackReason }) => [
    ...attempts.flatMap(({ reason }) => reason ?? []),
    ...parseFallbackReason(fallbackReason).map(({ reason }) => reason),
  ],
};

function containsText({ id, model, caller, attempts }: RequestRow, text: string): boolean {
  return [
    id,
    model,
    caller.key,
    caller.address,
    caller.userAgent,
    ...attempts.flatMap((attempt) => [
      attempt.model,
      attempt.error,
      attempt.provider,
      attempt.machine,
    ]),
  ].some((part) => part?.toLowerCase().includes(text) === true);
}

/** Selects requests that the gateway keeps. */
export interface RequestQuery {
  readonly filter: RequestFilter;
  readonly by: Narrowing;
  /** Only requests that began at this time or earlier, in wall-clock milliseconds; null for the newest. */
  readonly before: number | null;
  readonly limit: number;
}

/** `GET /api/v1/requests`: requests that have ended. */
export interface RequestPage {
  /** Newest first; fewer than `limit` on the last page. */
  readonly data: readonly RequestRow[];
  /** How many of all kept requests match `by`, for each filter. */
  readonly counts: FilterCounts;
  /** The values that occur in all kept requests. */
  readonly facets: FacetValues;
  /** The names of the machines that the kept requests called; removed machines have their last names. */
  readonly machines: MachineNames;
}
