import type { ProviderEvent, Verification } from '#shared/provider.ts';
import { isoTime } from '../platform/dates.ts';
import { NO_NEWS } from './change-detection.ts';
import { refreshFromPool, type RegistryContext, write } from './context.ts';
import { type RawQuery, readHistoryLimit } from './listing.ts';
import { verificationStateOf } from './provider-entry.ts';
import { type Answer, answered, providerNotFound, type Refusal, unwritten } from './responses.ts';

/** Newest first. */
export interface History {
  readonly object: 'list';
  readonly data: readonly ProviderEvent[];
}

/** The owner's actions on providers. */
export interface ProviderAdmin {
  remove(id: string): Promise<Answer<{ readonly id: string }>>;
  /** Requests a verification; does not wait for the run. */
  requestVerification(id: string): Answer<{
    readonly id: string;
    readonly verification: Pick<Verification, 'status'>;
  }>;
  history(id: string, query: RawQuery): Promise<Answer<History>>;
}

const OWN_PROVIDER: Refusal = {
  kind: 'refused',
  status: 409,
  code: 'own_provider',
  message:
    'This is the machine that the gateway runs on. Switch its agent off instead: SWITCHYARD_AGENT=false.',
};

/** `gone` is called for a provider that was removed. */
export function createProviderAdmin(
  parts: RegistryContext,
  gone: (id: string) => void,
): ProviderAdmin {
  const { table, store, verifier } = parts;
  return {
    async remove(id) {
      const unavailable = table.get(id) === undefined ? await refreshFromPool(parts) : null;
      const entry = table.get(id);
      if (entry === undefined) return unavailable ?? providerNotFound(id);
      if (entry.isOwn) return OWN_PROVIDER;
      // Removed from memory first, so that a heartbeat that arrives meanwhile does not write it again.
      table.remove(id);
      const written = await write([{ kind: 'provider_removed', id }], parts);
      if (written.kind === 'unwritten') {
        if (table.get(id) === undefined) table.add(entry);
        return unwritten(written.message);
      }
      // Unless it has been enrolled again in the meantime.
      if (table.get(id) === undefined) {
        gone(id);
        verifier.removed(id);
      }
      return answered({ id });
    },
    requestVerification(id) {
      const entry = table.get(id);
      if (entry === undefined || entry.shown === null) return providerNotFound(id);
      verifier.providerChanged(id, { ...NO_NEWS, requested: true });
      return answered({ id, verification: { status: verificationStateOf(entry) } }, 202);
    },
    async history(id, query) {
      if (table.get(id) === undefined) return providerNotFound(id);
      const limit = readHistoryLimit(query);
      if (typeof limit !== 'number') return limit;
      const events = await store.events(id, limit);
      const data = events.map(({ at, kind, text }) => ({ at: isoTime(at), kind, text }));
      return answered({ object: 'list', data });
    },
  };
}
