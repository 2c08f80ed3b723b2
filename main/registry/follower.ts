import { isDeepStrictEqual } from 'node:util';
import { factsOf, newsOf } from './change-detection.ts';
import type { RegistryContext } from './context.ts';
import { entryOf, gatewayTokenOf, type TableEntry } from './provider-table.ts';
import type { SharedProvider, StoredProvider, StoreFollower } from './store/store.ts';
import type { VerifierNews } from './verifier-port.ts';

/** Keeps the memory of a registry as a store has it that other gateways write too. */
export function createFollower(parts: RegistryContext): StoreFollower {
  const { table, clock, verifier, gatewaySecret } = parts;

  function remove(entry: TableEntry): void {
    table.remove(entry.id);
    verifier.removed(entry.id);
  }

  function add({ provider, ageMs }: SharedProvider): void {
    const entry = entryOf(provider, clock.ticks() - ageMs, gatewaySecret);
    table.add(entry);
    entry.notedStatus = table.status(entry);
    verifier.providerChanged(entry.id, ['verified']);
  }

  function update(entry: TableEntry, { provider, ageMs }: SharedProvider): void {
    const before = entry.stored;
    entry.stored = merged(entry, provider);
    if (provider.sequence >= before.sequence) entry.isChangeUnwritten = false;
    if (isDeepStrictEqual(entry.stored, before)) return;
    const isEnrolledAgain = before.tokenSalt !== provider.tokenSalt;
    if (isEnrolledAgain) entry.gatewayToken = gatewayTokenOf(gatewaySecret, provider);
    const isHeard = provider.sequence > before.sequence;
    const news: VerifierNews[] = isHeard ? hear(entry, before, ageMs) : [];
    if (isEnrolledAgain) news.push('enrolled');
    if (isEnrolledAgain || news.includes('material')) entry.materialChanges += 1;
    table.touch(entry);
    if (!isDeepStrictEqual(entry.stored.verification, before.verification)) news.push('verified');
    if (news.length > 0) verifier.providerChanged(entry.id, news);
  }

  /** A heartbeat that another gateway has taken, and whose status it has noted. */
  function hear(entry: TableEntry, before: StoredProvider, ageMs: number): VerifierNews[] {
    const [last, now] = [factsOf(before), factsOf(entry.stored)];
    if (now === null) return [];
    const hasReturned = table.noteHeartbeat(entry, now.record) && last !== null;
    entry.lastHeartbeatTicks = clock.ticks() - ageMs;
    entry.notedStatus = table.status(entry);
    return [...newsOf(last, now), ...(hasReturned ? (['returned'] as const) : [])];
  }

  return {
    all(ids) {
      const existing = new Set(ids);
      for (const entry of table.all()) if (!entry.isOwn && !existing.has(entry.id)) remove(entry);
    },
    provider(id, stored) {
      const entry = table.get(id);
      // No other gateway writes the machine that this one runs on.
      if (entry?.isOwn === true) return;
      // Also if it was removed and has joined again since.
      const isGone = stored === null || stored.provider.enrolledAt !== entry?.stored.enrolledAt;
      if (entry !== undefined && isGone) remove(entry);
      if (stored === null) return;
      if (isGone) add(stored);
      else if (entry !== undefined) update(entry, stored);
    },
  };
}

/** What is stored, except for what this gateway has heard and could not write. */
function merged(
  { stored: mine, isChangeUnwritten }: TableEntry,
  theirs: StoredProvider,
): StoredProvider {
  if (theirs.sequence >= mine.sequence) return theirs;
  const verification = isChangeUnwritten ? mine.verification : theirs.verification;
  const { sequence, record, lastHeartbeatAt, lastHeartbeatIp, heartbeatCount } = mine;
  const heard = { sequence, record, lastHeartbeatAt, lastHeartbeatIp, heartbeatCount };
  return { ...theirs, ...heard, verification };
}
