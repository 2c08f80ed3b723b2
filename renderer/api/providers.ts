import type { InstallLines } from '#shared/install.ts';
import type { Provider, ProviderEvent, ProviderList } from '#shared/provider.ts';
import type { ProviderNote, ProviderNotes } from '#shared/provider-notes.ts';
import { type Answer, answerOf, type Caller, jsonBody, partOf, type Refusal } from './client.ts';

export const NO_NOTE: ProviderNote = { name: '', note: '' };

/** A line that lets one machine join, once. */
export interface Enrollment {
  readonly token: string;
  readonly expires_at: string;
  readonly join: string;
}

/** A machine and its history, newest first; null if the history could not be read. */
export interface ProviderDetail {
  readonly provider: Provider;
  readonly note: ProviderNote;
  readonly history: readonly ProviderEvent[] | null;
}

export function createProviders({ send, call, act }: Caller) {
  const machines = createMachineReader({ send });
  return {
    readList: () => machines.read(),
    /** The last list read; null before the first. */
    lastList: () => machines.last(),
    readOne: async (id: string): Promise<Answer<ProviderDetail>> => {
      const [one, history, notes] = await Promise.all([
        call<Provider>(pathOf(id)),
        call<{ readonly data: readonly ProviderEvent[] }>(`${pathOf(id)}/history`),
        call<ProviderNotes>(`${ROOT}/notes`),
      ]);
      return partOf(one, (provider) => ({
        provider,
        note: (notes.ok ? notes.value.notes[id] : undefined) ?? NO_NOTE,
        history: history.ok ? history.value.data : null,
      }));
    },
    verify: (id: string) => act(`${pathOf(id)}/verify`, { method: 'POST' }),
    remove: async (id: string): Promise<Refusal | null> => {
      const refusal = await act(pathOf(id), { method: 'DELETE' });
      if (refusal === null) machines.without(id);
      return refusal;
    },
    setNote: (id: string, note: ProviderNote) => act(`${pathOf(id)}/note`, jsonBody('PUT', note)),
    enroll: () => call<Enrollment>(`${ROOT}/enrollments`, { method: 'POST' }),
    /** The lines that install this gateway's program on other machines. */
    readInstall: () => call<InstallLines>('/api/v1/install'),
  };
}

const pathOf = (id: string): string => `${ROOT}/${encodeURIComponent(id)}`;

/** Machines per request: parsing more would delay a frame. */
const PAGE = 1_000;
/** Limit on the machines read; the page says so if there are more. */
const MAX_MACHINES = 10_000;

export interface Machines extends Pick<ProviderList, 'count' | 'data'>, ProviderNotes {}

interface Page {
  readonly list: ProviderList;
  readonly etag: string | null;
}

/** Reads the list page by page; unchanged pages are neither sent nor parsed again (ETag). */
function createMachineReader({ send }: Pick<Caller, 'send'>) {
  let pages: readonly Page[] = [];
  let notes: { readonly text: string; readonly value: ProviderNotes } | null = null;
  let last: Machines | null = null;

  async function readPage(offset: number, held: Page | undefined): Promise<Answer<Page>> {
    const headers: HeadersInit = held?.etag ? { 'If-None-Match': held.etag } : {};
    const place = offset === 0 ? '' : `&offset=${offset}`;
    const response = await send(`${ROOT}?limit=${PAGE}${place}`, { headers });
    if (response?.status === 304 && held) return { ok: true, value: held };
    const etag = response?.headers.get('ETag') ?? null;
    return partOf(await answerOf<ProviderList>(response), (list) => ({ list, etag }));
  }

  async function readNotes(): Promise<Answer<ProviderNotes>> {
    const answer = await answerOf<ProviderNotes>(await send(`${ROOT}/notes`, {}));
    if (!answer.ok) return answer;
    const text = JSON.stringify(answer.value);
    if (notes?.text !== text) notes = { text, value: answer.value };
    return { ok: true, value: notes.value };
  }

  return {
    last: () => last,
    /** Drops a removed machine, because the list is shown before it is read again. */
    without(id: string) {
      pages = [];
      if (last !== null) last = { ...last, data: last.data.filter((one) => one.id !== id) };
    },
    read: async (): Promise<Answer<Machines>> => {
      const found: Page[] = [];
      let count = 1;
      while (found.length * PAGE < Math.min(count, MAX_MACHINES)) {
        const page = await readPage(found.length * PAGE, pages[found.length]);
        if (!page.ok) return page;
        found.push(page.value);
        count = page.value.list.count;
      }
      const own = await readNotes();
      if (!own.ok) return own;
      const isSame = found.length === pages.length && found.every((page, at) => page === pages[at]);
      pages = found;
      if (last === null || !isSame || last.notes !== own.value.notes) {
        last = { count, data: merged(found), notes: own.value.notes };
      }
      return { ok: true, value: last };
    },
  };
}

const ROOT = '/api/v1/providers';

/** Joins pages without duplicates: a change between two readings may put a machine on both. */
function merged(pages: readonly Page[]): Provider[] {
  const byId = new Map(pages.flatMap(({ list }) => list.data).map((one) => [one.id, one]));
  return [...byId.values()];
}
