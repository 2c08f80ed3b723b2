import type { Clock } from '../../platform/clock.ts';
import { ANSWERS_AT_ONCE, piecesOf } from '../store/pieces.ts';
import type { Lease, Pool } from '../store/postgres/pool-client.ts';
import type { PoolChanges } from '../store/postgres/protocol.ts';
import type { StoreChange } from '../store/store.ts';

/** This registry's part in a pool. */
export interface PoolSharing {
  readonly pool: Pool;
  /** Whether this gateway is the one that records silence and removes machines. */
  holdsSweep(): boolean;
  /** Remembers what could not be written until the database answers again. */
  noteUnwritten(changes: readonly StoreChange[]): void;
  /** Starts applying what other gateways write. */
  begin(absorb: (changes: PoolChanges) => void, writeAgain: (id: string) => Promise<void>): void;
  start(): void;
  stop(): void;
}

/** How often this gateway asks for the sweep lease while another one holds it. */
const ASK_MS = 2000;
const SWEEP = 'sweep';

export function createSharing(pool: Pool, { clock }: { readonly clock: Clock }): PoolSharing {
  /** Ids of machines with changes that are not in the database. */
  const unwritten = new Set<string>();
  let sweep: Lease | null = null;
  let isRunning = false;
  let cancelAsking: (() => void) | null = null;

  async function askForSweep(): Promise<void> {
    if (sweep === null) {
      const lease = await pool.lease(SWEEP);
      if (lease !== null) keepSweep(lease);
    }
    if (isRunning) cancelAsking = clock.after(ASK_MS, () => void askForSweep());
  }

  function keepSweep(lease: Lease): void {
    if (!isRunning) return lease.release();
    sweep = lease;
    lease.lost.addEventListener('abort', () => (sweep = null));
  }

  /** Tries each once; what fails again is retried after the next check of the database. */
  async function writeMissed(writeAgain: (id: string) => Promise<void>): Promise<void> {
    const ids = [...unwritten];
    unwritten.clear();
    for (const piece of piecesOf(ids, ANSWERS_AT_ONCE)) await Promise.all(piece.map(writeAgain));
  }

  return {
    pool,
    holdsSweep: () => sweep !== null,
    noteUnwritten(changes) {
      for (const change of changes)
        if (change.kind === 'provider') unwritten.add(change.provider.id);
    },
    begin(absorb, writeAgain) {
      pool.onChanges(absorb);
      pool.onStatus(({ database }) => {
        if (database === 'connected') void writeMissed(writeAgain);
      });
    },
    start() {
      isRunning = true;
      void askForSweep();
    },
    stop() {
      isRunning = false;
      cancelAsking?.();
      sweep?.release();
      sweep = null;
    },
  };
}
