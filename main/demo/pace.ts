/** The speed of the demo's engines, and the timeouts of its gateway. */
export interface DemoPace {
  readonly wordMs: number;
  /** How long an engine with the fault `slow` waits before it answers. */
  readonly slowMs: number;
  /** From the first call to a cold engine until it is up. */
  readonly coldStartMs: number;
  readonly hedgeMs: number;
  readonly idleTimeoutMs: number;
}

export const PACE: DemoPace = {
  // About 25 words a second, the pace of a mid-sized model on one card.
  wordMs: 40,
  // Longer than the default hedge delay of 5 s, shorter than all timeouts.
  slowMs: 7000,
  coldStartMs: 12_000,
  // Well below `slowMs`.
  hedgeMs: 2000,
  // The default of 30 s suits engines, but is too long for a person watching a stall.
  idleTimeoutMs: 8000,
};
