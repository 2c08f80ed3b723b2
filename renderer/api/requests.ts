import type { RequestRow } from '#shared/live.ts';
import type { Narrowing, RequestFilter, RequestPage } from '#shared/request-filter.ts';
import type { Caller } from './client.ts';

/** Size of a page: parsing more would delay a frame. */
export const REQUESTS_PER_PAGE = 200;

const ROOT = '/api/v1/requests';

export type Requests = ReturnType<typeof createRequests>;

export function createRequests({ call }: Pick<Caller, 'call'>) {
  return {
    /** `query`: from `queryOf`; `before` null for the newest. */
    readPage: (query: string, before: number | null) => {
      const place = before === null ? '' : `&before=${before}`;
      return call<RequestPage>(`${ROOT}?${query}&limit=${REQUESTS_PER_PAGE}${place}`);
    },
    readOne: (id: string) => call<RequestRow>(`${ROOT}/${encodeURIComponent(id)}`),
  };
}

export const queryOf = (filter: RequestFilter, by: Narrowing): string =>
  new URLSearchParams({ outcome: filter, ...by }).toString();
