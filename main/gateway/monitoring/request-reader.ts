import type { RequestRow } from '#shared/live.ts';
import { namesNow } from '#shared/machine-names.ts';
import type { RequestsWanted } from '#shared/request-page.ts';
import { pageOf } from '../usage/queries.ts';
import type { UsageRecorder } from '../usage/recorder.ts';

/** Reads the stored requests, which are more than the live feed shows. */
export type RequestReader = ReturnType<typeof createRequestReader>;

export function createRequestReader(deps: {
  readonly rows: () => readonly RequestRow[];
  readonly usage: Pick<UsageRecorder, 'requests' | 'request'>;
  readonly nameOf: (id: string) => string | null;
}) {
  const { rows, usage, nameOf } = deps;
  return {
    async page(wanted: RequestsWanted) {
      // If nothing is stored, there are only the requests that the feed shows.
      const ended = () => rows().filter(({ state }) => state !== 'running');
      const page = (await usage.requests(wanted)) ?? pageOf(ended(), wanted);
      const asked = page.data.flatMap(({ attempts }) =>
        attempts.flatMap(({ provider }) => provider ?? []),
      );
      const named = namesNow([...page.facets.machine, ...asked], nameOf);
      return { ...page, machines: { ...page.machines, ...named } };
    },
    /** Also finds running requests; null if the request is unknown or no longer stored. */
    async one(id: string) {
      return rows().find((row) => row.id === id) ?? (await usage.request(id));
    },
  };
}
