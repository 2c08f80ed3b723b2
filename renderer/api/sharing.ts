import type { Sharing, SharingChanged } from '#shared/sharing.ts';
import type { Answer, Caller } from './call.ts';
import { jsonBody } from './client.ts';

/** At which addresses the gateway listens. */
export interface SharingApi {
  readonly read: () => Promise<Answer<Sharing>>;
  readonly change: (host: string) => Promise<Answer<SharingChanged>>;
}

const ROOT = '/api/v1/sharing';

export function createSharing({ call }: Pick<Caller, 'call'>): SharingApi {
  return {
    read: async () => (await call(ROOT)) as Answer<Sharing>,
    change: async (host) => (await call(ROOT, jsonBody('PUT', { host }))) as Answer<SharingChanged>,
  };
}
