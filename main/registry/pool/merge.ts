import type { TableEntry } from '../provider-table.ts';
import type { PoolProvider } from '../store/postgres/protocol.ts';
import type { ProviderInPool, StoredProvider } from '../store/store.ts';

/** A provider merged from two sources: the newer version of each part. */
interface Merged {
  readonly provider: StoredProvider;
  /** The heartbeat is the other gateway's. */
  readonly isHeard: boolean;
  /** The verification is the other gateway's. */
  readonly isVerified: boolean;
  /** The machine has changed since the last verification run. */
  readonly isOtherGeneration: boolean;
  readonly isChanged: boolean;
}

/** `mine` may hold unwritten changes; its last heartbeat had the sequence `heardSequence`. */
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
  // The count of another gateway is complete once it has received the latest heartbeat.
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

/** There is one verdict per lease; what was written here may come back with its keys in another order. */
function isOtherVerdict(theirs: StoredProvider, mine: StoredProvider): boolean {
  if (isAfter(mine.pool, theirs.pool)) return false;
  return JSON.stringify(theirs.verification) !== JSON.stringify(mine.verification);
}

/** Whether `a` is at least as new as `b`. */
function isAfter(a: ProviderInPool | undefined, b: ProviderInPool | undefined): boolean {
  if (a === undefined || b === undefined) return b === undefined;
  return a.generation === b.generation ? a.fence >= b.fence : a.generation > b.generation;
}
