import type { RequestRow } from '#shared/live.ts';
import type { RequestPage, RequestsWanted } from '#shared/request-page.ts';
import { pageOf } from '../usage/request-pages.ts';
import type { UsageRecorder } from '../usage/recorder.ts';

/** Reads the requests that are kept, which are more than the live feed shows. */
export interface RequestReader {
  page(wanted: RequestsWanted): Promise<RequestPage>;
  /** A running request too; null for one that is unknown or was forgotten. */
  one(id: string): Promise<RequestRow | null>;
}

export function createRequestReader({
  rows,
  usage,
}: {
  readonly rows: () => readonly RequestRow[];
  readonly usage: Pick<UsageRecorder, 'requests' | 'request'>;
}): RequestReader {
  return {
    async page(wanted) {
      const kept = await usage.requests(wanted);
      // Where nothing is kept there is only what the feed shows.
      return (
        kept ??
        pageOf(
          rows().filter(({ state }) => state !== 'running'),
          wanted,
        )
      );
    },
    async one(id) {
      return rows().find((row) => row.id === id) ?? (await usage.request(id));
    },
  };
}
