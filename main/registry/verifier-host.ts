import { failureReason } from '#shared/checks.ts';
import { eventChange, providerChange, type RegistryContext, write } from './context.ts';
import type { TableEntry } from './provider-table.ts';
import { STALE_MS } from './staleness.ts';
import type { StoredVerification } from './store/store.ts';

/** The registry as the verifier sees it. */
export type VerifierHost = ReturnType<typeof createVerifierHost>;

/** `outdated`: the provider has changed in the meantime or was removed, so the result is ignored. */
export type RecordResult =
  | { readonly kind: 'recorded' | 'outdated' }
  | { readonly kind: 'unwritten'; readonly message: string };

/** `proved`: a machine has answered the completion of its verification. */
export function createVerifierHost(parts: RegistryContext, proved: (id: string) => void) {
  const { table, clock, store } = parts;

  function setVerifying(entry: TableEntry, running: boolean): void {
    if (entry.isVerifying === running) return;
    entry.isVerifying = running;
    table.touch(entry);
  }

  return {
    /** Every provider that has sent a heartbeat. */
    subjects: () => [...table.all()].flatMap((entry) => subjectOf(entry, parts) ?? []),
    /** Null if it is unknown or has not sent a heartbeat yet. */
    subject(id: string) {
      const entry = table.get(id);
      return entry === undefined ? null : subjectOf(entry, parts);
    },
    /** A run started or ended; shown as `verifying` unless the provider is `verified`. */
    verifying(id: string, running: boolean) {
      const entry = table.get(id);
      if (entry !== undefined) setVerifying(entry, running);
    },
    /**
     * Takes the right to verify a provider, which one gateway has at a time; the returned function gives it back. Null
     * if another one has it.
     */
    async lease(id: string): Promise<(() => void) | null> {
      // No other gateway sees the own machine.
      const isShared = store.shared !== undefined && table.get(id)?.isOwn !== true;
      return isShared ? store.shared.lease(id) : () => {};
    },
    /**
     * Stores the result of a run, before which the provider had had so many material changes; resolves once it is on
     * disk. Also ends `verifying`.
     */
    async verificationDone(
      id: string,
      materialChanges: number,
      verification: StoredVerification,
    ): Promise<RecordResult> {
      const entry = table.get(id);
      if (entry === undefined) return { kind: 'outdated' };
      if (entry.materialChanges !== materialChanges) {
        setVerifying(entry, false);
        return { kind: 'outdated' };
      }
      const before = entry.stored.verification;
      entry.stored = { ...entry.stored, verification };
      entry.isVerifying = false;
      table.touch(entry);
      const text = verdictOf(verification);
      const events =
        text === verdictOf(before) ? [] : [eventChange(entry, clock.now(), ['verification', text])];
      const written = await write([providerChange(entry, 'verification'), ...events], parts);
      if (written.kind === 'refused') {
        void store.shared?.refresh(id);
        return { kind: 'outdated' };
      }
      const { state, lastCheckAt, lastInferenceAt } = verification;
      if (state === 'verified' && lastInferenceAt === lastCheckAt) proved(id);
      return written.kind === 'unwritten' ? written : { kind: 'recorded' };
    },
  };
}

/** A provider as a verification run sees it. */
export type VerificationSubject = NonNullable<ReturnType<typeof subjectOf>>;

function subjectOf(entry: TableEntry, { table }: RegistryContext) {
  const { id, key, stored, shown, gatewayToken, isOwn, materialChanges } = entry;
  if (key === null || shown === null) return null;
  const isAway = shown.status === 'offline' || shown.status === 'paused';
  return {
    id,
    key,
    /** Never part of a detail or an error. */
    gatewayToken,
    record: shown,
    lastHeartbeatIp: stored.lastHeartbeatIp,
    /** The agent of this process, which may be reached on loopback. */
    isOwn,
    /** Otherwise a run would be wasted. */
    isReachable: !isAway && table.silentMs(entry) < STALE_MS,
    verification: stored.verification,
    materialChanges,
  };
}

function verdictOf({ state, checks }: StoredVerification): string {
  const reason = failureReason(checks);
  return reason === '' ? state : `${state}: ${reason}`;
}
