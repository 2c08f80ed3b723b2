import type { RequestRow } from '#shared/live.ts';

/** The filters of the requests page, in the order in which they are offered. */
export const REQUEST_FILTERS = ['all', 'fell-back', 'failed'] as const;

export type RequestFilter = (typeof REQUEST_FILTERS)[number];

/** Filters in words. */
export const FILTER_LABELS: Readonly<Record<RequestFilter, string>> = {
  all: 'All',
  'fell-back': 'Fell back',
  failed: 'Failed',
};

/** True when the request belongs under the filter. */
export function matchesFilter(row: RequestRow, filter: RequestFilter): boolean {
  switch (filter) {
    case 'fell-back':
      return row.fallbackReason !== 'none' && row.fallbackReason !== '';
    case 'failed':
      return row.state === 'failed' || row.state === 'broken';
    default:
      return true;
  }
}
