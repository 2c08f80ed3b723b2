import type { InstallLines } from '#shared/install.ts';
import type { Provider, ProviderEvent, ProviderList } from '#shared/provider.ts';
import { answerOf, createCaller, type Answer } from './call.ts';
import type { Client, Refusal } from './client.ts';

/** More than this many machines are not read at once; the page says so. */
const LIST_LIMIT = 1_000;

/** A line that lets one machine join, once. */
export interface Enrollment {
  readonly token: string;
  readonly expires_at: string;
  readonly join: string;
}

/** A machine and what happened to it, newest first; the history is null where it could not be read. */
export interface ProviderDetail {
  readonly provider: Provider;
  readonly history: readonly ProviderEvent[] | null;
}

/** The registry as the page reads and changes it. */
export interface Providers {
  readonly readList: () => Promise<Answer<ProviderList>>;
  /** The list as last read, null before. */
  readonly lastList: () => ProviderList | null;
  readonly readOne: (id: string) => Promise<Answer<ProviderDetail>>;
  readonly verify: (id: string) => Promise<Refusal | null>;
  readonly remove: (id: string) => Promise<Refusal | null>;
  readonly enroll: () => Promise<Answer<Enrollment>>;
  /** How machines install this gateway's program. */
  readonly readInstall: () => Promise<Answer<InstallLines>>;
}

/** An unchanged list is neither sent nor parsed again (ETag). */
export function createProviders(client: Pick<Client, 'request'>, answered: () => void): Providers {
  const { send, call, order } = createCaller(client, answered);
  let last: { readonly list: ProviderList; readonly etag: string | null } | null = null;

  const readList: Providers['readList'] = async () => {
    const held = last;
    const headers: HeadersInit = held?.etag ? { 'If-None-Match': held.etag } : {};
    const response = await send(`${ROOT}?limit=${LIST_LIMIT}`, { headers });
    if (response?.status === 304 && held) return { ok: true, value: held.list };
    const answer = await answerOf(response);
    if (!answer.ok) return answer;
    const list = answer.value as ProviderList;
    last = { list, etag: response?.headers.get('ETag') ?? null };
    return { ok: true, value: list };
  };

  const readOne: Providers['readOne'] = async (id) => {
    const [one, history] = await Promise.all([call(pathOf(id)), call(`${pathOf(id)}/history`)]);
    if (!one.ok) return one;
    const events = history.ok
      ? (history.value as { readonly data: readonly ProviderEvent[] }).data
      : null;
    return { ok: true, value: { provider: one.value as Provider, history: events } };
  };

  return {
    readList,
    lastList: () => last?.list ?? null,
    readOne,
    verify: (id) => order(`${pathOf(id)}/verify`, { method: 'POST' }),
    async remove(id) {
      const refusal = await order(pathOf(id), { method: 'DELETE' });
      // The list is shown again before it is read again.
      if (refusal === null && last) last = { list: without(last.list, id), etag: null };
      return refusal;
    },
    enroll: async () =>
      (await call(`${ROOT}/enrollments`, { method: 'POST' })) as Answer<Enrollment>,
    readInstall: async () => (await call('/api/v1/install')) as Answer<InstallLines>,
  };
}

const ROOT = '/api/v1/providers';

function pathOf(id: string): string {
  return `${ROOT}/${encodeURIComponent(id)}`;
}

function without(list: ProviderList, id: string): ProviderList {
  return { ...list, data: list.data.filter((provider) => provider.id !== id) };
}
