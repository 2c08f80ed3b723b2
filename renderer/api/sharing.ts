import type { Sharing, SharingChanged } from '#shared/sharing.ts';
import type { Answer, Caller } from './call.ts';
import { jsonBody } from './client.ts';

/** Reads and changes the addresses at which the gateway listens. */
export interface SharingApi {
  readonly read: () => Promise<Answer<Sharing>>;
  /** Creates a link to the window that works once. */
  readonly newLink: () => Promise<Answer<string>>;
  readonly change: (host: string) => Promise<Answer<SharingChanged>>;
}

const ROOT = '/api/v1/sharing';

export function createSharing({ call }: Pick<Caller, 'call'>): SharingApi {
  return {
    read: async () => (await call(ROOT)) as Answer<Sharing>,
    async newLink() {
      const answer = await call('/api/v1/sessions/codes', { method: 'POST' });
      return answer.ok
        ? { ok: true, value: (answer.value as { readonly link: string }).link }
        : answer;
    },
    change: async (host) => (await call(ROOT, jsonBody('PUT', { host }))) as Answer<SharingChanged>,
  };
}
