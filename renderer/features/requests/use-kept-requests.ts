import { useCallback, useRef, useState } from 'react';
import type { RequestRow } from '#shared/live.ts';
import type { Narrowing, RequestFilter } from '#shared/request-filter.ts';
import { queryOf, type Requests } from '../../api/requests.ts';
import { useReading } from '../../ui/use-reading.ts';
import { type KeptRequests, NOTHING_READ, withNewest, withOlder } from './kept-requests.ts';

interface Wanted {
  readonly filter: RequestFilter;
  readonly by: Narrowing;
  readonly feed: readonly RequestRow[];
  /** Changes with each request. */
  readonly revision: number;
}

interface Kept {
  readonly kept: KeptRequests;
  /** Reads a page of older requests, if there are any. */
  readonly readOlder: () => void;
}

/** The kept requests that match a filter: the newest, read again as requests arrive, and older ones on demand. */
export function useKeptRequests(api: Requests, { filter, by, feed, revision }: Wanted): Kept {
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

  const reading = useRef<string | null>(null);
  const { kept } = state;
  const readOlder = useCallback(async () => {
    const oldest = kept.rows.at(-1);
    if (reading.current === query || kept.isComplete || oldest === undefined) return;
    reading.current = query;
    const answer = await api.readPage(query, oldest.startedAt);
    if (reading.current === query) reading.current = null;
    if (!answer.ok) return;
    setState((now) =>
      now.query === query ? { ...now, kept: withOlder(now.kept, answer.value) } : now,
    );
  }, [api, query, kept]);

  const readOlderSoon = useCallback(() => void readOlder(), [readOlder]);
  return { kept: state.query === query ? kept : NOTHING_READ, readOlder: readOlderSoon };
}
