import type { RequestRow } from './live.ts';
import type { MachineNames } from './ids.ts';
import type { FacetValues, FilterCounts, Narrowing, RequestFilter } from './request-filter.ts';

/** Which of the requests that the gateway keeps. */
export interface RequestsWanted {
  readonly filter: RequestFilter;
  readonly by: Narrowing;
  /** Those that began then or earlier, in wall-clock milliseconds; null for the newest. */
  readonly before: number | null;
  readonly limit: number;
}

/** `GET /api/v1/requests`: requests that have ended. */
export interface RequestPage {
  /** Newest first; fewer than were asked for at the end. */
  readonly data: readonly RequestRow[];
  /** Of all that are kept, as narrowed. */
  readonly counts: FilterCounts;
  /** Of all that are kept. */
  readonly facets: FacetValues;
  /** Of the machines that the kept requests asked; those that are gone go by their last names. */
  readonly machines: MachineNames;
}
