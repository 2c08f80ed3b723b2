import { useCallback, useRef, useState } from 'react';
import type { MachineNames } from '#shared/ids.ts';
import type { RequestRow } from '#shared/live.ts';
import {
  countsOf,
  FACETS,
  type FacetValues,
  type FilterCounts,
  KEPT_PER_OUTCOME,
  type Narrowing,
  REQUEST_FILTERS,
  type RequestFilter,
  type RequestPage,
} from '#shared/request-filter.ts';
import { queryOf, type Requests, REQUESTS_PER_PAGE } from '../../api/requests.ts';
import { useReading } from '../../ui/use-reading.ts';

interface KeptRequestsQuery {
  readonly filter: RequestFilter;
  readonly by: Narrowing;
  readonly feed: readonly RequestRow[];
  /** Changes with each request. */
  readonly revision: number;
}

/** The kept requests that match a filter: the newest, read again as requests arrive, and older ones on demand. */
export function useKeptRequests(api: Requests, { filter, by, feed, revision }: KeptRequestsQuery) {
  const query = queryOf(filter, by);
  const read = useCallback(async () => {
    const answer = await api.readPage(query, null);
    return answer.ok ? { ok: true as const, value: { query, page: answer.value } } : answer;
  }, [api, query]);
  const { value } = useReading(read, revision, null);

  const [state, setState] = useState({ query, page: value?.page, kept: NOTHING_READ });
  if (state.query !== query) {
    setState({ query, page: undefined, kept: NOTHING_READ });
  } else if (value !== null && value.query === query && value.page !== state.page) {
    setState({ ...value, kept: withNewest(state.kept, value.page, feed, by) });
  }

  /** The row after which an older page is being read. */
  const end = useRef<RequestRow | null>(null);
  const { kept } = state;
  const readOlder = useCallback(async () => {
    const oldest = kept.rows.at(-1);
    if (end.current === oldest || kept.isComplete || oldest === undefined) return;
    end.current = oldest;
    const answer = await api.readPage(query, oldest.startedAt);
    if (end.current === oldest) end.current = null;
    if (!answer.ok) return;
    // Behind another row the answer would leave a gap, and a page that was read twice would look like the last.
    setState((now) =>
      now.kept.rows.at(-1) === oldest ? { ...now, kept: withOlder(now.kept, answer.value) } : now,
    );
  }, [api, query, kept]);

  const readOlderSoon = useCallback(() => void readOlder(), [readOlder]);
  return { kept: state.query === query ? kept : NOTHING_READ, readOlder: readOlderSoon };
}

/** The kept requests that have been read: a contiguous range from the newest on. */
export interface KeptRequests {
  readonly rows: readonly RequestRow[];
  /** True if the gateway keeps nothing older. */
  readonly isComplete: boolean;
  /** Counts of the requests that the feed did not show when they were read; null if unknown. */
  readonly beyondFeed: FilterCounts | null;
  readonly facets: FacetValues | null;
  readonly machines: MachineNames;
}

export const NOTHING_READ: KeptRequests = {
  rows: [],
  isComplete: false,
  beyondFeed: null,
  facets: null,
  machines: {},
};

/** What the gateway keeps plus one page, so that the end can be reached while new requests arrive. */
const MAX_ROWS = 4 * KEPT_PER_OUTCOME + REQUESTS_PER_PAGE;

/** Merges a new reading of the newest page. If a gap to the earlier rows remains, those are dropped. */
export function withNewest(
  kept: KeptRequests,
  page: RequestPage,
  feed: readonly RequestRow[],
  by: Narrowing,
): KeptRequests {
  const { data } = page;
  const beyondFeed = beyond(page.counts, feed, by);
  const isWhole = data.length < REQUESTS_PER_PAGE;
  const known = new Map(kept.rows.map((row) => [row.id, row]));
  const joinsUp = known.has(data.at(-1)?.id ?? '');
  // Keeps the known objects, so that their rows are not rendered again.
  const newest = data.map((row) => known.get(row.id) ?? row);
  const rows = joinsUp && !isWhole ? together(kept.rows, newest) : newest;
  return {
    rows: rows.slice(0, MAX_ROWS),
    isComplete: isWhole || (joinsUp && kept.isComplete && rows.length <= MAX_ROWS),
    beyondFeed,
    facets: page.facets,
    machines: page.machines,
  };
}

export function withOlder(kept: KeptRequests, { data, machines }: RequestPage): KeptRequests {
  const rows = together(kept.rows, data);
  const isLast = data.length < REQUESTS_PER_PAGE || rows.length === kept.rows.length;
  return { ...kept, rows, isComplete: isLast, machines: { ...kept.machines, ...machines } };
}

/** Merges two lists, newest first; the first list's row wins. */
export function together(
  rows: readonly RequestRow[],
  others: readonly RequestRow[],
): readonly RequestRow[] {
  const ids = new Set(rows.map(({ id }) => id));
  const missing = others.filter(({ id }) => !ids.has(id));
  if (missing.length === 0) return rows;
  return [...rows, ...missing].toSorted((a, b) => b.startedAt - a.startedAt);
}

function beyond(counts: FilterCounts, feed: readonly RequestRow[], by: Narrowing): FilterCounts {
  const inFeed = countsOf(
    feed.filter(({ state }) => state !== 'running'),
    by,
  );
  const left = REQUEST_FILTERS.map((name) => [name, Math.max(0, counts[name] - inFeed[name])]);
  return Object.fromEntries(left) as FilterCounts;
}

export function allCounts(inFeed: FilterCounts, { beyondFeed }: KeptRequests): FilterCounts {
  const sums = REQUEST_FILTERS.map((name) => [name, inFeed[name] + (beyondFeed?.[name] ?? 0)]);
  return Object.fromEntries(sums) as FilterCounts;
}

export function allFacets(inFeed: FacetValues, { facets }: KeptRequests): FacetValues {
  const values = FACETS.map((facet) => [
    facet,
    [...new Set([...inFeed[facet], ...(facets?.[facet] ?? [])])].toSorted(),
  ]);
  return Object.fromEntries(values) as FacetValues;
}
