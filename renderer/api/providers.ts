import type { InstallLines } from '#shared/install.ts';
import type { Provider, ProviderEvent } from '#shared/provider.ts';
import type { ProviderNote, ProviderNotes } from '#shared/provider-notes.ts';
import { createCaller, type Answer } from './call.ts';
import { jsonBody, type Client, type Refusal } from './client.ts';
import { createMachineReader, type Machines, ROOT } from './provider-pages.ts';

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
