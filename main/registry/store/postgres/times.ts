/** How long a shared database is waited for, and how long leases in it last. */
export interface PoolTimes {
  /** A database that takes longer than this to answer counts as away. */
  readonly answerMs: number;
  /** How long the start waits for the database; then the registry starts without it. */
  readonly startMs: number;
  /** How long a lease lasts without renewal, and so how long the work of a dead gateway waits. */
  readonly leaseMs: number;
  /** The holder of a lease stops this much before others may take it. */
  readonly marginMs: number;
}

export const POOL_TIMES: PoolTimes = {
  answerMs: 5000,
  startMs: 10_000,
  leaseMs: 10_000,
  marginMs: 2000,
};
