import { clamped, isNews, newsOf, NO_NEWS } from '../change-detection.ts';
import { providerChange, type RegistryContext, write } from '../context.ts';
import type { OpenEnrollments } from '../enrollment.ts';
import type { KeptNotes } from '../owner-notes.ts';
import { entryOf, gatewayTokenOf, type TableEntry } from '../provider-table.ts';
import type { PoolChanges, PoolProvider } from '../store/postgres/protocol.ts';
import type { StoredProvider } from '../store/store.ts';
import type { VerifierNews } from '../verifier-port.ts';
import { mergedProvider } from './merge.ts';

interface AbsorberDeps {
  readonly open: OpenEnrollments;
  readonly notes: Pick<KeptNotes, 'absorb'>;
  /** Called for a provider that was removed. */
  readonly gone: (id: string) => void;
}

/** Applies what any gateway of the pool has written to this one's memory. */
export function createAbsorber(
  parts: RegistryContext,
  { open, notes, gone }: AbsorberDeps,
): (changes: PoolChanges) => void {
  const { table, verifier } = parts;

  function remove(id: string, revision: number): void {
    const entry = table.get(id);
    if (entry === undefined || entry.isOwn) return;
    // The machine has joined again since, or is joining now.
    if (entry.poolRevision === null || entry.poolRevision > revision) return;
    table.remove(id);
    gone(id);
    verifier.removed(id);
  }

  return (changes) => {
    const { providers, enrollments, removed, all } = changes;
    for (const { kind, id, revision } of removed) {
      if (kind === 'provider') remove(id, revision);
      if (kind === 'enrollment') open.drop(id);
    }
    if (all !== null) {
      const there = new Set(all.ids);
      for (const { id } of table.all()) if (!there.has(id)) remove(id, all.revision);
    }
    for (const enrollment of enrollments) open.putBack(enrollment);
    for (const each of providers) absorb(each, parts);
    notes.absorb(changes);
  };
}

/** Writes what the database missed while it did not answer; the database keeps the newer version of each part. */
export async function writeAgain(id: string, parts: RegistryContext): Promise<void> {
  const entry = parts.table.get(id);
  if (entry === undefined) return;
  const { stored, heardSequence: sequence, isOwn } = entry;
  const heard = { stored: { ...stored, sequence }, isOwn };
  await Promise.all([
    // A heartbeat is written by the gateway that received it; the copy here may be older.
    ...(entry.isHeardHere ? [write([providerChange(heard, 'heartbeat')], parts)] : []),
    write([providerChange(entry, 'verification')], parts),
  ]);
}

function absorb(written: PoolProvider, parts: RegistryContext): void {
  const { table, clock, gatewaySecret, verifier } = parts;
  const { provider, ageMs } = written;
  const entry = table.get(provider.id);
  if (entry?.isOwn === true) return;
  if (entry === undefined) {
    const lastHeartbeatTicks = clock.ticks() - (ageMs ?? 0);
    const added = entryOf(provider, { lastHeartbeatTicks, gatewaySecret });
    added.poolRevision = written.revision;
    table.add(added);
    added.notedStatus = table.status(added);
    verifier.verifiedElsewhere(provider.id);
    return;
  }
  entry.poolRevision = written.revision;
  const before = entry.stored;
  const merged = mergedProvider(entry, written);
  entry.stored = merged.provider;
  if (merged.isHeard) {
    entry.heardSequence = provider.sequence;
    entry.isHeardHere = false;
  }
  const news = merged.isHeard ? hear(entry, before, ageMs ?? 0, parts) : NO_NEWS;
  if (merged.isVerified) entry.isVerifiedHere = false;
  if (merged.isOtherGeneration) entry.generation += 1;
  const isEnrolledAgain = before.tokenSalt !== merged.provider.tokenSalt;
  if (isEnrolledAgain) entry.gatewayToken = gatewayTokenOf(gatewaySecret, merged.provider);
  if (merged.isChanged) table.touch(entry);
  if (merged.isVerified) verifier.verifiedElsewhere(entry.id);
  if (isEnrolledAgain || isNews(news))
    verifier.providerChanged(entry.id, { ...news, enrolled: isEnrolledAgain });
}

/** The gateway that wrote the heartbeat has noted the resulting status. */
function hear(
  entry: TableEntry,
  before: StoredProvider,
  ageMs: number,
  { table, clock }: RegistryContext,
): VerifierNews {
  const returned = table.noteHeartbeat(entry) && before.record !== null;
  entry.lastHeartbeatTicks = clock.ticks() - ageMs;
  const { record, lastHeartbeatIp: ip } = entry.stored;
  if (record === null) return NO_NEWS;
  entry.shown = clamped(record);
  entry.notedStatus = table.status(entry);
  const last =
    before.record === null ? null : { record: before.record, ip: before.lastHeartbeatIp };
  return { ...newsOf(last, { record, ip }), returned };
}
