import { createTurns } from '../../../platform/async.ts';
import type { Clock } from '../../../platform/clock.ts';
import { MACHINES_AT_ONCE, piecesOf } from '../pieces.ts';
import { readChanges } from './reading.ts';
import type { PoolChanges, PoolWorkerData } from './protocol.ts';
import { type Session, writerOf } from './session.ts';

/** Reads what all gateways have committed: when it is announced, and regularly. */
export interface PoolReader {
  /** Reads everything, for a new session; resolves once it is read. */
  begin(session: Session): Promise<void>;
  /** Something may have been committed. */
  wake(): void;
  /** Resolves once everything committed before the call is read, or the database does not answer. */
  refresh(): Promise<void>;
  revision(): number;
}

interface ReaderDeps {
  readonly data: PoolWorkerData;
  readonly clock: Clock;
  readonly session: () => Session | null;
  /** Resolves once they are applied. */
  readonly onChanges: (changes: PoolChanges) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

/** Announcements within this time are read together, because many machines cause some at any moment. */
const BATCH_MS = 100;
/** The database keeps removals for an hour; after half of that without reading, everything is read. */
const GAP_MS = 1_800_000;

export function createPoolReader(deps: ReaderDeps): PoolReader {
  const { clock, data, onChanges } = deps;
  const writer = writerOf(data);
  let revision = -1;
  let readTicks = -Infinity;
  // One at a time: of two concurrent readings, the older could bring back what the newer one has removed.
  const inTurn = createTurns();
  /** The reading that waits: it starts when earlier ones have ended, and sees what was committed until then. */
  let queued: Promise<void> | null = null;
  let isArmed = false;

  async function read(session: Session, all: boolean): Promise<void> {
    const startedTicks = clock.ticks();
    let isComplete = all || startedTicks - readTicks > GAP_MS;
    let isLast = false;
    while (!isLast) {
      const after = { revision: isComplete ? -1 : revision, isComplete };
      const page = await readChanges(session.reader, after, writer);
      await handOn(page.changes, onChanges);
      ({ revision, isLast } = page);
      isComplete = false;
    }
    readTicks = startedTicks;
  }

  /** Any number of calls share one waiting read; a failure gives up the session. */
  function readAgain(): Promise<void> {
    queued ??= inTurn(async () => {
      queued = null;
      const session = deps.session();
      if (session === null) return;
      try {
        await read(session, false);
      } catch (error) {
        if (deps.session() === session) deps.onFailure(error);
      }
    });
    return queued;
  }

  return {
    begin: (session) => inTurn(() => read(session, true)),
    wake() {
      if (isArmed) return;
      isArmed = true;
      clock.after(BATCH_MS, () => {
        isArmed = false;
        void readAgain();
      });
    },
    refresh: readAgain,
    revision: () => revision,
  };
}

async function handOn(changes: PoolChanges, onChanges: ReaderDeps['onChanges']): Promise<void> {
  const { providers, ...rest } = changes;
  const { enrollments, documents, removed, all } = rest;
  const count = enrollments.length + Object.keys(documents).length + removed.length;
  const isNothing = count === 0 && all === null;
  if (!isNothing) await onChanges({ ...rest, providers: [] });
  for (const piece of piecesOf(providers, MACHINES_AT_ONCE))
    await onChanges({
      providers: piece,
      enrollments: [],
      documents: {},
      removed: [],
      all: null,
    });
}
