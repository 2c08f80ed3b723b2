import { OUTCOMES, type RequestRow } from '#shared/live.ts';
import { outcomeOf } from '#shared/outcome.ts';
import { parseFallbackReason } from '../../text/fallback-reason.ts';

/** The filters of the requests page, in the order in which they are offered. */
export const REQUEST_FILTERS = ['all', ...OUTCOMES] as const;

export type RequestFilter = (typeof REQUEST_FILTERS)[number];

export const FACETS = ['upstream', 'machine', 'model', 'key', 'reason'] as const;
export type Facet = (typeof FACETS)[number];

/** What the shown requests have in common beside their outcome. */
export type Narrowing = Readonly<Partial<Record<Facet | 'text', string>>>;

/** True when the request belongs under the filter. */
export function matchesFilter(row: RequestRow, filter: RequestFilter, by: Narrowing = {}): boolean {
  if (filter !== 'all' && outcomeOf(row) !== filter) return false;
  const isWanted = (facet: Facet) => by[facet] === undefined || hasValue(row, facet, by[facet]);
  return FACETS.every(isWanted) && (by.text === undefined || says(row, by.text.toLowerCase()));
}

/** What a row can be found under, in alphabetical order. */
export function valuesOf(rows: readonly RequestRow[], facet: Facet): readonly string[] {
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

function says({ id, model, caller, attempts }: RequestRow, text: string): boolean {
  return [
    id,
    model,
    caller?.key,
    caller?.address,
    caller?.userAgent,
    ...attempts.flatMap((attempt) => [attempt.model, attempt.error, attempt.provider]),
  ].some((part) => part?.toLowerCase().includes(text) === true);
}
