import type { Clock } from '../platform/clock.ts';
import { clamped, newsOf } from '../registry/change-detection.ts';
import {
  providerChange,
  type RegistryMemory,
  type RegistrySharing,
  write,
} from '../registry/context.ts';
import { entryOf, gatewayTokenOf, type TableEntry } from '../registry/provider-table.ts';
import { STALE_MS } from '../registry/staleness.ts';
import { unwritten } from '../registry/responses.ts';
import type { Store, StoreChange, StoredProvider } from '../registry/store/store.ts';
import type { VerificationTurn, VerifierNews } from '../registry/verifier-port.ts';
import type { Lease, Pool } from './client.ts';
import {
  ANSWERS_AT_ONCE,
  type GatewayFigures,
  piecesOf,
  type PoolChanges,
  type PoolProvider,
  type PoolWriteResult,
  type Stamp,
  type StampedChange,
} from './protocol.ts';

interface SharingDeps {
  readonly pool: Pool;
  readonly store: Store;
  readonly addresses: () => readonly string[];
  /** The gateway's own work, which the others are shown. */
  readonly load: () => Omit<GatewayFigures, 'machines' | 'verified'>;
}

/** What this gateway remembers of a machine as one of several that write it. */
interface Standing {
  /** Null until it was read from the database or verified. */
  stamp: Stamp | null;
  /** The sequence of the last heartbeat; the stored one may be that of a refused message. */
  heardSequence: number;
  /** Whether the last heartbeat was sent to this gateway. */
  isHeardHere: boolean;
  /** Whether the last verdict is this gateway's. */
  isVerifiedHere: boolean;
  /** The pool's revision when this was last read or enrolled: 0 after the start, null during the enrolment. */
  revision: number | null;
}

/** How often this gateway asks for the sweep lease while another one holds it. */
const ASK_MS = 2000;
const SWEEP = 'sweep';

/** A registry's part in a pool, with the store that it writes. */
export function createRegistrySharing({ pool, store, addresses, load }: SharingDeps) {
  const standings = new WeakMap<TableEntry, Standing>();
  /** Ids of machines with changes that are not in the database. */
  const missed = new Set<string>();
  let memory: RegistryMemory | null = null;
  const sweep = createSweepLease(pool);

  function standingOf(entry: TableEntry, revision: number | null = 0): Standing {
    const known = standings.get(entry);
    if (known !== undefined) return known;
    const { sequence: heardSequence } = entry.stored;
    const fresh = {
      stamp: null,
      heardSequence,
      isHeardHere: false,
      isVerifiedHere: false,
      revision,
    };
    standings.set(entry, fresh);
    return fresh;
  }

  function entryIn(change: StoreChange): TableEntry | undefined {
    return change.kind === 'provider' ? memory?.table.get(change.provider.id) : undefined;
  }

  function stamped(change: StoreChange): StampedChange {
    const entry = entryIn(change);
    if (change.kind !== 'provider' || entry === undefined) return change;
    const standing = standingOf(entry, null);
    const { part, provider } = change;
    if (part === 'heartbeat' || part === 'changed') {
      standing.heardSequence = provider.sequence;
      standing.isHeardHere = true;
    }
    // What other gateways know of its verification is outdated.
    if (part === 'changed' && standing.stamp !== null) {
      const { generation, fence } = standing.stamp;
      standing.stamp = { generation: generation + 1, fence };
    }
    return { ...change, stamp: standing.stamp };
  }

  function noteWritten(change: StoreChange, result: PoolWriteResult): void {
    if (change.kind !== 'provider') return;
    if (result.kind === 'unwritten') missed.add(change.provider.id);
    const entry = entryIn(change);
    if (result.kind !== 'written' || change.part !== 'enrolled' || entry === undefined) return;
    const standing = standingOf(entry);
    standing.revision = Math.max(standing.revision ?? 0, result.revision);
  }

  /** Tries each once; what fails again is retried after the next check of the database. */
  async function writeMissed(parts: RegistryMemory): Promise<void> {
    const ids = [...missed];
    missed.clear();
    for (const piece of piecesOf(ids, ANSWERS_AT_ONCE))
      await Promise.all(piece.map((id) => writeAgain(id, parts)));
  }

  /** Writes what the database missed while it did not answer; the database keeps the newer version of each part. */
  async function writeAgain(id: string, parts: RegistryMemory): Promise<void> {
    const entry = parts.table.get(id);
    if (entry === undefined) return;
    const { stored, isOwn } = entry;
    const { heardSequence: sequence, isHeardHere } = standingOf(entry);
    const heard = { stored: { ...stored, sequence }, isOwn };
    await Promise.all([
      // A heartbeat is written by the gateway that received it; the copy here may be older.
      ...(isHeardHere ? [write([providerChange(heard, 'heartbeat')], parts)] : []),
      write([providerChange(entry, 'verification')], parts),
    ]);
  }

  /** Machines with a recent heartbeat that were heard or verified here. */
  function share({ table }: RegistryMemory): Pick<GatewayFigures, 'machines' | 'verified'> {
    let [machines, verified] = [0, 0];
    table.survey((entry, silentMs) => {
      const standing = standings.get(entry);
      if (silentMs >= STALE_MS || standing === undefined) return;
      if (standing.isHeardHere) machines += 1;
      if (standing.isVerifiedHere && entry.stored.verification.state === 'verified') verified += 1;
    });
    return { machines, verified };
  }

  const sharing: RegistrySharing = {
    begin(parts) {
      memory = parts;
      const stamps = pool.stamps();
      for (const entry of parts.table.all()) standingOf(entry).stamp = stamps.get(entry.id) ?? null;
      const absorb = createAbsorber(parts, standingOf);
      pool.onChanges(absorb);
      pool.onStatus(({ database }) => {
        if (database === 'connected') void writeMissed(parts);
        pool.show({ ...share(parts), ...load() });
      });
    },
    start() {
      if (memory !== null) sweep.start(memory.clock);
    },
    stop: () => sweep.stop(),
    async catchUp() {
      await pool.refresh();
      const { database, problem } = pool.status();
      if (database === 'connected') return null;
      return unwritten(problem ?? "The pool's database has not answered yet.");
    },
    announced: () =>
      memory === null ? {} : { pool: { id: memory.poolId, registries: addresses() } },
    joinAddresses(own) {
      const all = addresses();
      return all.length === 0
        ? [own]
        : all.toSorted((a, b) => Number(b === own) - Number(a === own));
    },
    isSweeper: sweep.isHeld,
    isHeardElsewhere: (entry) => !entry.isOwn && !standingOf(entry).isHeardHere,
    async turn(entry) {
      const fence = standingOf(entry).stamp?.fence ?? 0;
      const { id, isOwn } = entry;
      const lease = isOwn ? ownLease(fence) : await pool.lease(`verify ${id}`, { id, fence });
      return lease === null ? null : turnIn(lease);
    },
    conclude(entry, { fields: { fence = 0 } }) {
      const standing = standingOf(entry);
      const { generation, fence: last } = standing.stamp ?? { generation: 0, fence: 0 };
      if (fence <= last) return false;
      standing.stamp = { generation, fence };
      standing.isVerifiedHere = true;
      return true;
    },
  };

  return {
    sharing,
    store: {
      ...store,
      async write(changes) {
        // The thread of a pool adds the revision.
        const result = (await store.write(changes.map(stamped))) as PoolWriteResult;
        for (const change of changes) noteWritten(change, result);
        return result;
      },
    } satisfies Store,
  };
}

/** Keeps asking for the lease to record silence and to remove machines. */
function createSweepLease(pool: Pool) {
  let held: Lease | null = null;
  let isRunning = false;
  let cancelAsking: (() => void) | null = null;

  async function ask(clock: Clock): Promise<void> {
    if (held === null) {
      const lease = await pool.lease(SWEEP);
      if (lease !== null) keep(lease);
    }
    if (isRunning) cancelAsking = clock.after(ASK_MS, () => void ask(clock));
  }

  function keep(lease: Lease): void {
    if (!isRunning) return lease.release();
    held = lease;
    lease.lost.addEventListener('abort', () => (held = null));
  }

  return {
    isHeld: () => held !== null,
    start(clock: Clock) {
      isRunning = true;
      void ask(clock);
    },
    stop() {
      isRunning = false;
      cancelAsking?.();
      held?.release();
      held = null;
    },
  };
}

/** A lease that is always granted: no other gateway sees the own machine. */
const ownLease = (fence: number): Lease => ({
  fence: fence + 1,
  lost: new AbortController().signal,
  release() {},
});

const turnIn = (lease: Lease): VerificationTurn => ({
  fields: { fence: lease.fence },
  lost: lease.lost,
  release: () => lease.release(),
});

/** Applies what any gateway of the pool has written to this one's memory. */
function createAbsorber(
  memory: RegistryMemory,
  standingOf: (entry: TableEntry, revision?: number | null) => Standing,
): (changes: PoolChanges) => void {
  const { table, verifier, clock, gatewaySecret, tokens } = memory;

  function remove(id: string, revision: number): void {
    const entry = table.get(id);
    if (entry === undefined || entry.isOwn) return;
    const standing = standingOf(entry);
    // The machine has joined again since, or is joining now.
    if (standing.revision === null || standing.revision > revision) return;
    table.remove(id);
    memory.gone(id);
    verifier.removed(id);
  }

  function add({ provider, stamp, ageMs, revision }: PoolProvider): void {
    const lastHeartbeatTicks = clock.ticks() - (ageMs ?? 0);
    const entry = entryOf(provider, { lastHeartbeatTicks, gatewaySecret });
    standingOf(entry, revision).stamp = stamp;
    table.add(entry);
    entry.notedStatus = table.status(entry);
    verifier.verifiedElsewhere(provider.id);
  }

  function absorb(written: PoolProvider): void {
    const { provider, ageMs, revision } = written;
    const entry = table.get(provider.id);
    if (entry?.isOwn === true) return;
    if (entry === undefined) return add(written);
    const standing = standingOf(entry);
    standing.revision = revision;
    const before = entry.stored;
    // It was removed and has joined again while this gateway was away: its stamps began again.
    if (before.enrolledAt !== provider.enrolledAt) standing.stamp = null;
    const merged = mergedProvider(before, standing, written);
    entry.stored = merged.provider;
    standing.stamp = merged.stamp;
    if (merged.isHeard) {
      standing.heardSequence = provider.sequence;
      standing.isHeardHere = false;
    }
    const news = merged.isHeard ? hear(entry, before, ageMs ?? 0, memory) : [];
    if (merged.isVerified) standing.isVerifiedHere = false;
    if (merged.isOtherGeneration) entry.materialChanges += 1;
    const isEnrolledAgain = before.tokenSalt !== merged.provider.tokenSalt;
    if (isEnrolledAgain) entry.gatewayToken = gatewayTokenOf(gatewaySecret, merged.provider);
    if (merged.isChanged) table.touch(entry);
    if (merged.isVerified) verifier.verifiedElsewhere(entry.id);
    const all = isEnrolledAgain ? [...news, 'enrolled' as const] : news;
    if (all.length > 0) verifier.providerChanged(entry.id, all);
  }

  return ({ providers, enrollments, removed, documents, all }) => {
    for (const { kind, id, revision } of removed) {
      if (kind === 'provider') remove(id, revision);
      if (kind === 'enrollment') tokens.drop(id);
    }
    if (all !== null) {
      const there = new Set(all.ids);
      for (const { id } of table.all()) if (!there.has(id)) remove(id, all.revision);
    }
    for (const enrollment of enrollments) tokens.putBack(enrollment);
    for (const each of providers) absorb(each);
    memory.absorbNotes(documents, (name) =>
      all === null
        ? removed.some((each) => each.kind === 'document' && each.id === name)
        : !Object.hasOwn(documents, name),
    );
  };
}

/** The gateway that wrote the heartbeat has noted the resulting status. */
function hear(
  entry: TableEntry,
  before: StoredProvider,
  ageMs: number,
  { table, clock }: RegistryMemory,
): readonly VerifierNews[] {
  const returned = table.noteHeartbeat(entry) && before.record !== null;
  entry.lastHeartbeatTicks = clock.ticks() - ageMs;
  const { record, lastHeartbeatIp: ip } = entry.stored;
  if (record === null) return [];
  entry.shown = clamped(record);
  entry.notedStatus = table.status(entry);
  const last =
    before.record === null ? null : { record: before.record, ip: before.lastHeartbeatIp };
  return [...newsOf(last, { record, ip }), ...(returned ? (['returned'] as const) : [])];
}

/** A provider merged from two sources: the newer version of each part. */
interface MergeResult {
  readonly provider: StoredProvider;
  readonly stamp: Stamp | null;
  /** The heartbeat is the other gateway's. */
  readonly isHeard: boolean;
  /** The verification is the other gateway's. */
  readonly isVerified: boolean;
  /** The machine has changed since the last verification run. */
  readonly isOtherGeneration: boolean;
  readonly isChanged: boolean;
}

/** `mine` may hold unwritten changes. */
function mergedProvider(
  mine: StoredProvider,
  { stamp, heardSequence }: Pick<Standing, 'stamp' | 'heardSequence'>,
  { provider: theirs, stamp: theirStamp, isOwnReport }: PoolProvider,
): MergeResult {
  const isHeard = !isOwnReport && theirs.sequence > heardSequence && theirs.record !== null;
  const known = isHeard ? writtenStamp(stamp, theirStamp) : stamp;
  const isLater = isAfter(theirStamp, known);
  // There is one verdict per lease; what was written here may come back with its keys in another order.
  const isVerified =
    !isAfter(known, theirStamp) &&
    JSON.stringify(theirs.verification) !== JSON.stringify(mine.verification);
  const isOtherGeneration = isLater && theirStamp.generation !== (stamp?.generation ?? 0);
  const heard = isHeard ? theirs : mine;
  const { id, publicKey, tokenSalt, enrolledAt } = theirs;
  // The count of another gateway is complete once it has received the latest heartbeat.
  const { heartbeatCount } = theirs.sequence >= heardSequence ? theirs : mine;
  return {
    provider: {
      id,
      publicKey,
      tokenSalt,
      enrolledAt,
      sequence: Math.max(mine.sequence, theirs.sequence),
      record: heard.record,
      lastHeartbeatAt: heard.lastHeartbeatAt,
      lastHeartbeatIp: heard.lastHeartbeatIp,
      heartbeatCount,
      verification: (isLater ? theirs : mine).verification,
    },
    stamp: isLater ? theirStamp : stamp,
    isHeard,
    isVerified,
    isOtherGeneration,
    isChanged:
      isHeard ||
      isVerified ||
      isOtherGeneration ||
      tokenSalt !== mine.tokenSalt ||
      heartbeatCount !== mine.heartbeatCount,
  };
}

/**
 * Null for a generation that only this gateway counts: the change was heard here and not written, and `theirs` comes with
 * a later heartbeat, which has taken its place.
 */
function writtenStamp(mine: Stamp | null, theirs: Stamp): Stamp | null {
  return mine !== null && theirs.generation < mine.generation ? null : mine;
}

/** Whether `a` is at least as new as `b`; null is older than all others. */
function isAfter(a: Stamp | null, b: Stamp | null): boolean {
  if (a === null || b === null) return b === null;
  return a.generation === b.generation ? a.fence >= b.fence : a.generation > b.generation;
}
