import type { TableEntry } from '../provider-entry.ts';
import type { PoolProvider } from '../store/postgres/protocol.ts';
import type { ProviderInPool, StoredProvider } from '../store/store.ts';

/** A provider of two sources, of each part what is newer. */
interface Merged {
  readonly provider: StoredProvider;
  /** The heartbeat is the other one's. */
  readonly isHeard: boolean;
  /** The verification is the other one's. */
  readonly isVerified: boolean;
  /** What the last run looked at is no longer so. */
  readonly isOtherGeneration: boolean;
  readonly isChanged: boolean;
}

/** `mine` may hold what is not written yet; its last heartbeat came with `heardSequence`. */
export function mergedProvider(
  { stored: mine, heardSequence }: Pick<TableEntry, 'stored' | 'heardSequence'>,
  { provider: theirs, isOwnReport }: PoolProvider,
): Merged {
  const isHeard = !isOwnReport && theirs.sequence > heardSequence && theirs.record !== null;
  const isLater = isAfter(theirs.pool, mine.pool);
  const isVerified = isLater && isOtherVerdict(theirs, mine);
  const isOtherGeneration = (theirs.pool?.generation ?? 0) > (mine.pool?.generation ?? 0);
  const heard = isHeard ? theirs : mine;
  const verified = isLater ? theirs : mine;
  const { id, publicKey, tokenSalt, enrolledAt } = theirs;
  // What another one has heard meanwhile is in the database once it has heard the last of it.
  const { heartbeatCount } = theirs.sequence >= heardSequence ? theirs : mine;
  const provider: StoredProvider = {
    id,
    publicKey,
    tokenSalt,
    enrolledAt,
    sequence: Math.max(mine.sequence, theirs.sequence),
    record: heard.record,
    lastHeartbeatAt: heard.lastHeartbeatAt,
    lastHeartbeatIp: heard.lastHeartbeatIp,
    heartbeatCount,
    verification: verified.verification,
    ...(verified.pool === undefined ? {} : { pool: verified.pool }),
  };
  const isEnrolledAgain = tokenSalt !== mine.tokenSalt;
  return {
    provider,
    isHeard,
    isVerified,
    isOtherGeneration,
    isChanged:
      isHeard ||
      isVerified ||
      isOtherGeneration ||
      isEnrolledAgain ||
      heartbeatCount !== mine.heartbeatCount,
  };
}

/** Under one lease there is one verdict: what was written here comes back in another order of its keys. */
function isOtherVerdict(theirs: StoredProvider, mine: StoredProvider): boolean {
  if (isAfter(mine.pool, theirs.pool)) return false;
  return JSON.stringify(theirs.verification) !== JSON.stringify(mine.verification);
}

/** Whether `a` is as new as `b`, or newer. */
function isAfter(a: ProviderInPool | undefined, b: ProviderInPool | undefined): boolean {
  if (a === undefined || b === undefined) return b === undefined;
  return a.generation === b.generation ? a.fence >= b.fence : a.generation > b.generation;
}
