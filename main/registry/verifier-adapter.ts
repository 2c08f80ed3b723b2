import { failureReason } from '#shared/checks.ts';
import { eventChange, type RegistryContext, providerChange, write } from './context.ts';
import { STALE_MS } from './liveness.ts';
import type { TableEntry } from './provider-table.ts';
import type { StoredVerification } from './store/store.ts';
import type { RecordResult, VerificationSubject, VerifierHost } from './verifier-port.ts';

/** The verifier's access to the providers. */
export function createVerifierHost(parts: RegistryContext): VerifierHost {
  const { table, clock, sharing } = parts;
  const { turn } = sharing;

  function subjectOf(entry: TableEntry): VerificationSubject | null {
    const { id, stored, shown, gatewayToken, isOwn, materialChanges } = entry;
    if (shown === null) return null;
    return {
      id,
      publicKey: stored.publicKey,
      gatewayToken,
      record: shown,
      lastHeartbeatIp: stored.lastHeartbeatIp,
      isOwn,
      isReachable: isReachable(entry),
      isHeardElsewhere: sharing.isHeardElsewhere(entry),
      verification: stored.verification,
      materialChanges,
    };
  }

  function isReachable(entry: TableEntry): boolean {
    const said = entry.shown?.status;
    return said !== 'offline' && said !== 'paused' && table.silentMs(entry) < STALE_MS;
  }

  function setVerifying(entry: TableEntry, running: boolean): void {
    if (entry.isVerifying === running) return;
    entry.isVerifying = running;
    table.touch(entry);
  }

  return {
    subjects: () => [...table.all()].flatMap((entry) => subjectOf(entry) ?? []),
    subject(id) {
      const entry = table.get(id);
      return entry === undefined ? null : subjectOf(entry);
    },
    verifying(id, running) {
      const entry = table.get(id);
      if (entry !== undefined) setVerifying(entry, running);
    },
    ...(turn === undefined
      ? {}
      : {
          async turn(id) {
            const entry = table.get(id);
            return entry === undefined ? null : turn(entry);
          },
        }),
    async verificationDone(id, materialChanges, verification, done): Promise<RecordResult> {
      const entry = table.get(id);
      if (entry === undefined) return { kind: 'outdated' };
      const isSame = entry.materialChanges === materialChanges;
      if (!isSame || (done !== undefined && !sharing.conclude(entry, done))) {
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
      if (written.kind === 'refused') return { kind: 'outdated' };
      return written.kind === 'unwritten' ? written : { kind: 'recorded' };
    },
  };
}

function verdictOf({ state, checks }: StoredVerification): string {
  const reason = failureReason(checks);
  return reason === '' ? state : `${state}: ${reason}`;
}
