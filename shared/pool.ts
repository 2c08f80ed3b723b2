/** A gateway of a pool that has not reported to the database for this long is gone, or disconnected from it. */
export const SILENT_MS = 10_000;

/** What the gateways of a pool tell agents about it. */
export interface PoolAnnouncement {
  readonly id: string;
  /** Addresses at which agents reach a gateway of it; any of them accepts their heartbeats. */
  readonly registries: readonly string[];
}
