import { failureReason } from '#shared/provider.ts';
import { eventChange, type RegistryContext, providerChange, write } from './context.ts';
import { STALE_MS } from './liveness.ts';
import type { TableEntry } from './provider-table.ts';
import type { PoolSharing } from './pool/sharing.ts';
import type { Lease } from './store/postgres/pool-client.ts';
import type { StoredProvider, StoredVerification } from './store/store.ts';
import type { Recorded, VerificationSubject, VerifierHost } from './verifier-port.ts';

/** The verifier's access to the providers. */
export function createVerifierHost(parts: RegistryContext): VerifierHost {
  const { table, clock, sharing } = parts;

  function subjectOf(entry: TableEntry): VerificationSubject | null {
    const { id, stored, shown, gatewayToken, isOwn, isHeardHere, generation } = entry;
    if (shown === null) return null;
    return {
      id,
      publicKey: stored.publicKey,
      gatewayToken,
      record: shown,
      lastHeartbeatIp: stored.lastHeartbeatIp,
      isOwn,
      isReachable: isReachable(entry),
      isHeardElsewhere: sharing !== null && !isOwn && !isHeardHere,
      verification: stored.verification,
      generation,
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
    ...(sharing === null ? {} : { lease: (id) => leaseOf(table.get(id), sharing) }),
    async verificationDone(id, generation, verification, lease): Promise<Recorded> {
      const entry = table.get(id);
      if (entry === undefined) return { kind: 'outdated' };
      if (entry.generation !== generation || isSuperseded(entry, lease)) {
        setVerifying(entry, false);
        return { kind: 'outdated' };
      }
      const before = entry.stored.verification;
      entry.stored = { ...entry.stored, verification, ...underLease(entry.stored, lease) };
      entry.isVerifying = false;
      entry.isVerifiedHere = true;
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

async function leaseOf(
  entry: TableEntry | undefined,
  { pool }: PoolSharing,
): Promise<Lease | null> {
  if (entry === undefined) return null;
  const { id, stored, isOwn } = entry;
  if (isOwn) return ownLease(stored);
  return pool.lease(`verify ${id}`, { id, fence: stored.pool?.fence ?? 0 });
}

/** A lease that is always granted: no other gateway sees the own machine. */
function ownLease({ pool }: StoredProvider): Lease {
  return { fence: (pool?.fence ?? 0) + 1, lost: new AbortController().signal, release() {} };
}

/** Whether another gateway has already stored the result of a later run. */
function isSuperseded({ stored }: TableEntry, lease: Lease | undefined): boolean {
  return lease !== undefined && lease.fence <= (stored.pool?.fence ?? 0);
}

function underLease(
  { pool }: StoredProvider,
  lease: Lease | undefined,
): Pick<StoredProvider, 'pool'> {
  if (lease === undefined) return {};
  // A machine that has just been enrolled here has not been read back from the database yet.
  const { generation = 0, isOwn = false } = pool ?? {};
  return { pool: { generation, isOwn, fence: lease.fence } };
}
