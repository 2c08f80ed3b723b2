import { createTurns } from '../../../platform/async.ts';
import type { Clock } from '../../../platform/clock.ts';
import { MACHINES_AT_ONCE, piecesOf } from '../pieces.ts';
import { readChanges } from './reading.ts';
import type { PoolChanges, PoolWorkerData } from './protocol.ts';
import { type Session, writerOf } from './session.ts';

/** Reads what all gateways have committed, when it is announced and every now and then. */
export interface PoolReader {
  /** Everything, for a session that has just begun; resolves once it is read. */
  begin(session: Session): Promise<void>;
  /** Something may have been committed. */
  wake(): void;
  /** Resolves once all is read that was committed before the call, or the database is away. */
  refresh(): Promise<void>;
  revision(): number;
}

interface ReaderDeps {
  readonly data: PoolWorkerData;
  readonly clock: Clock;
  readonly session: () => Session | null;
  /** Resolves once they are taken. */
  readonly onChanges: (changes: PoolChanges) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

/** Announcements within this time are read together: of many machines there are some at any moment. */
const GATHER_MS = 100;
/** Removals are kept for an hour; after half of that without reading, everything is read. */
const GAP_MS = 1_800_000;

export function createPoolReader(deps: ReaderDeps): PoolReader {
  const { clock, data, onChanges } = deps;
  const writer = writerOf(data);
  let revision = -1;
  let readTicks = -Infinity;
  // Of two readings at once, the older could bring back what the newer has seen removed.
  const inTurn = createTurns();
  /** It begins when those before it have ended, and sees what was committed until then. */
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

  /** However many ask, one waits for its turn; a failure gives the session up. */
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
      clock.after(GATHER_MS, () => {
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
