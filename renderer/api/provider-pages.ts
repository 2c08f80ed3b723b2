import type { Provider, ProviderList } from '#shared/provider.ts';
import type { ProviderNotes } from '#shared/provider-notes.ts';
import { answerOf, type Answer, type Caller } from './call.ts';

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
export function createMachineReader({ send }: Pick<Caller, 'send'>) {
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

export const ROOT = '/api/v1/providers';

/** Joins pages without duplicates: a change between two readings may put a machine on both. */
function merged(pages: readonly Page[]): Provider[] {
  const byId = new Map(pages.flatMap(({ list }) => list.data).map((one) => [one.id, one]));
  return [...byId.values()];
}
