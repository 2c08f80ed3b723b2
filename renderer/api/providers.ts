import type { InstallLines } from '#shared/install.ts';
import type { ProviderNote, ProviderNotes } from '#shared/provider-notes.ts';
import type { Provider, ProviderEvent, ProviderList } from '#shared/provider.ts';
import {
  type Answer,
  answerOf,
  type Caller,
  type Client,
  createCaller,
  jsonBody,
  type Refusal,
} from './client.ts';

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

/** The registry, read and changed by the page. */
export interface Providers {
  readonly readList: () => Promise<Answer<Machines>>;
  /** The last list read; null before the first. */
  readonly lastList: () => Machines | null;
  readonly readOne: (id: string) => Promise<Answer<ProviderDetail>>;
  readonly verify: (id: string) => Promise<Refusal | null>;
  readonly remove: (id: string) => Promise<Refusal | null>;
  readonly setNote: (id: string, note: ProviderNote) => Promise<Refusal | null>;
  readonly enroll: () => Promise<Answer<Enrollment>>;
  /** The lines that install this gateway's program on other machines. */
  readonly readInstall: () => Promise<Answer<InstallLines>>;
}

export function createProviders(client: Pick<Client, 'request'>, answered: () => void): Providers {
  const { send, call, order } = createCaller(client, answered);
  const machines = createMachineReader({ send });

  const readOne: Providers['readOne'] = async (id) => {
    const [one, history, noted] = await Promise.all([
      call(pathOf(id)),
      call(`${pathOf(id)}/history`),
      call(`${ROOT}/notes`),
    ]);
    if (!one.ok) return one;
    const events = history.ok
      ? (history.value as { readonly data: readonly ProviderEvent[] }).data
      : null;
    const note = (noted.ok ? (noted.value as ProviderNotes).notes[id] : undefined) ?? NO_NOTE;
    return { ok: true, value: { provider: one.value as Provider, note, history: events } };
  };

  return {
    readList: () => machines.read(),
    lastList: () => machines.last(),
    readOne,
    verify: (id) => order(`${pathOf(id)}/verify`, { method: 'POST' }),
    async remove(id) {
      const refusal = await order(pathOf(id), { method: 'DELETE' });
      if (refusal === null) machines.without(id);
      return refusal;
    },
    setNote: (id, note) => order(`${pathOf(id)}/note`, jsonBody('PUT', note)),
    enroll: async () =>
      (await call(`${ROOT}/enrollments`, { method: 'POST' })) as Answer<Enrollment>,
    readInstall: async () => (await call('/api/v1/install')) as Answer<InstallLines>,
  };
}

function pathOf(id: string): string {
  return `${ROOT}/${encodeURIComponent(id)}`;
}

/** Machines per request: parsing more would delay a frame. */
const PAGE = 1_000;
/** Limit on the machines read; the page says so if there are more. */
const MAX_MACHINES = 10_000;

/** The machines with their owner's notes. */
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
    const answer = await answerOf(response);
    if (!answer.ok) return answer;
    const list = answer.value as ProviderList;
    return { ok: true, value: { list, etag: response?.headers.get('ETag') ?? null } };
  }

  async function readNotes(): Promise<Answer<ProviderNotes>> {
    const answer = await answerOf(await send(`${ROOT}/notes`, {}));
    if (!answer.ok) return answer;
    const text = JSON.stringify(answer.value);
    if (notes?.text !== text) notes = { text, value: answer.value as ProviderNotes };
    return { ok: true, value: notes.value };
  }

  return {
    last: () => last,
    /** Drops a removed machine, because the list is shown before it is read again. */
    without(id: string) {
      pages = [];
      if (last !== null) last = { ...last, data: last.data.filter((one) => one.id !== id) };
    },
    async read(): Promise<Answer<Machines>> {
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
