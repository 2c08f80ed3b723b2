import type { RequestRow } from './live.ts';
import type { MachineNames } from './ids.ts';
import type { FacetValues, FilterCounts, Narrowing, RequestFilter } from './request-filter.ts';

/** Selects requests that the gateway keeps. */
export interface RequestsWanted {
  readonly filter: RequestFilter;
  readonly by: Narrowing;
  /** Those that began at this time or earlier, in wall-clock milliseconds; null for the newest. */
  readonly before: number | null;
  readonly limit: number;
}

/** `GET /api/v1/requests`: requests that have ended. */
export interface RequestPage {
  /** Newest first; fewer than `limit` on the last page. */
  readonly data: readonly RequestRow[];
  /** Of all kept requests that match `by`. */
  readonly counts: FilterCounts;
  /** Of all kept requests. */
  readonly facets: FacetValues;
  /** Of the machines that the kept requests called; removed machines have their last names. */
  readonly machines: MachineNames;
}
