import type { RequestRow } from '#shared/live.ts';
import type { Narrowing, RequestFilter } from '#shared/request-filter.ts';
import type { RequestPage } from '#shared/request-page.ts';
import { type Answer, type Client, createCaller } from './client.ts';

/** The requests that the gateway keeps, which are more than its feed shows. */
export interface Requests {
  /** `query`: from `queryOf`; `before` null for the newest. */
  readonly readPage: (query: string, before: number | null) => Promise<Answer<RequestPage>>;
  readonly readOne: (id: string) => Promise<Answer<RequestRow>>;
}

/** Size of a page: parsing more would delay a frame. */
export const REQUESTS_PER_PAGE = 200;

export function createRequests(client: Pick<Client, 'request'>, answered: () => void): Requests {
  const { call } = createCaller(client, answered);
  return {
    async readPage(query, before) {
      const place = before === null ? '' : `&before=${before}`;
      const answer = await call(`${ROOT}?${query}&limit=${REQUESTS_PER_PAGE}${place}`);
      return answer.ok ? { ok: true, value: answer.value as RequestPage } : answer;
    },
    async readOne(id) {
      const answer = await call(`${ROOT}/${encodeURIComponent(id)}`);
      return answer.ok ? { ok: true, value: answer.value as RequestRow } : answer;
    },
  };
}

const ROOT = '/api/v1/requests';

export function queryOf(filter: RequestFilter, by: Narrowing): string {
  return new URLSearchParams({ outcome: filter, ...by }).toString();
}
