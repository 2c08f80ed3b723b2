import type { InstallLines } from '#shared/install.ts';
import type { Provider, ProviderEvent, ProviderList } from '#shared/provider.ts';
import type { ProviderNote, ProviderNotes } from '#shared/provider-notes.ts';
import { type Answer, type Caller, jsonBody, partOf, type Refusal } from './client.ts';

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

export function createProviders({ call, act }: Caller) {
  const machines = createMachineReader({ call });
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

/** Limit on the machines read; the page says so if there are more. */
const MAX_MACHINES = 1000;

export interface Machines extends Pick<ProviderList, 'count' | 'data'>, ProviderNotes {}

/** Reads the list of machines with their notes, and keeps what was read last. */
function createMachineReader({ call }: Pick<Caller, 'call'>) {
  let last: Machines | null = null;
  return {
    last: () => last,
    /** Drops a removed machine, because the list is shown before it is read again. */
    without(id: string) {
      if (last !== null) last = { ...last, data: last.data.filter((one) => one.id !== id) };
    },
    read: async (): Promise<Answer<Machines>> => {
      const [list, notes] = await Promise.all([
        call<ProviderList>(`${ROOT}?limit=${MAX_MACHINES}`),
        call<ProviderNotes>(`${ROOT}/notes`),
      ]);
      if (!list.ok) return list;
      return partOf(notes, (own) => {
        last = { count: list.value.count, data: list.value.data, notes: own.notes };
        return last;
      });
    },
  };
}

const ROOT = '/api/v1/providers';
