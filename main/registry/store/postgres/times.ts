/** How long a shared database is waited for, and what is held in it lasts. */
export interface PoolTimes {
  /** A database that answers later than this counts as one that is gone. */
  readonly answerMs: number;
  /** At the start one that does not answer is waited for no longer; the registry begins without it. */
  readonly startMs: number;
  /** How long a lease lasts that is not renewed: the work of a gateway that died waits as long. */
  readonly leaseMs: number;
  /** Its holder stops this much earlier than others may begin. */
  readonly marginMs: number;
}

export const POOL_TIMES: PoolTimes = {
  answerMs: 5000,
  startMs: 10_000,
  leaseMs: 10_000,
  marginMs: 2000,
};
