import type { AddedKey, KeyList } from '#shared/keys.ts';
import type { Answer, Caller } from './call.ts';
import { jsonBody, type Refusal } from './client.ts';

/** The named keys of apps. */
export interface Keys {
  readonly list: () => Promise<Answer<KeyList>>;
  readonly add: (name: string) => Promise<Answer<AddedKey>>;
  /** Null removes a limit. */
  readonly limit: (
    name: string,
    limits: Readonly<Record<string, number | null>>,
  ) => Promise<Refusal | null>;
  readonly revoke: (name: string) => Promise<Refusal | null>;
}

const ROOT = '/api/v1/keys';

const pathOf = (name: string) => `${ROOT}/${encodeURIComponent(name)}`;

export function createKeys({ call, order }: Pick<Caller, 'call' | 'order'>): Keys {
  return {
    list: async () => (await call(ROOT)) as Answer<KeyList>,
    add: async (name) => (await call(ROOT, jsonBody('POST', { name }))) as Answer<AddedKey>,
    limit: (name, limits) => order(pathOf(name), jsonBody('PATCH', { limits })),
    revoke: (name) => order(pathOf(name), { method: 'DELETE' }),
  };
}
