import { createTurns } from '../platform/async.ts';
import type { Clock } from '../platform/clock.ts';
import type { StoreOpening } from '../registry/store/protocol.ts';
import type { StoredState } from '../registry/store/store.ts';
import {
  MACHINES_AT_ONCE,
  piecesOf,
  type PoolChanges,
  type PoolOpening,
  type PoolTimes,
  type PoolWorkerData,
  type Stamp,
} from './protocol.ts';
import { readChanges } from './reading.ts';
import { type Session, writerOf } from './session.ts';

/** Reads what all gateways have committed: when it is announced, and regularly. */
export type PoolReader = ReturnType<typeof createPoolReader>;

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

export function createPoolReader(deps: ReaderDeps) {
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
    /** Reads everything, for a new session; resolves once it is read. */
    begin: (session: Session): Promise<void> => inTurn(() => read(session, true)),
    /** Something may have been committed. */
    wake(): void {
      if (isArmed) return;
      isArmed = true;
      clock.after(BATCH_MS, () => {
        isArmed = false;
        void readAgain();
      });
    },
    /** Resolves once everything committed before the call is read, or the database does not answer. */
    refresh: readAgain,
    revision: (): number => revision,
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

interface OpeningDeps {
  readonly clock: Clock;
  readonly times: PoolTimes;
  readonly say: (opening: PoolOpening) => void;
  /** Why the database has not answered. */
  readonly problem: () => string;
}

/** Collects what is read before the registry exists. */
export function createOpening({ clock, times, say, problem }: OpeningDeps) {
  let read: PoolChanges[] | null = [];

  function complete(warning: string | null): void {
    if (read === null) return;
    const { state, stamps } = contentOf(read);
    read = null;
    cancel();
    say({ kind: 'open', state, stamps, unreadable: [], warning });
  }

  const cancel = clock.after(times.startMs, () => complete(problem()));
  return {
    isOver: (): boolean => read === null,
    add: (changes: PoolChanges) => void read?.push(changes),
    /** The registry starts with what was read. */
    complete,
    refuse(opening: Extract<StoreOpening, { readonly kind: 'unusable' }>): void {
      read = null;
      cancel();
      say(opening);
    },
    cancel,
  };
}

function contentOf(
  pieces: readonly PoolChanges[],
): Pick<Extract<PoolOpening, { readonly kind: 'open' }>, 'state' | 'stamps'> {
  const providers = new Map<string, StoredState['providers'][number]>();
  const enrollments = new Map<string, StoredState['enrollments'][number]>();
  const documents = new Map<string, string>();
  const stamps = new Map<string, Stamp>();
  for (const piece of pieces) {
    const there = piece.all === null ? null : new Set(piece.all.ids);
    for (const known of [providers, enrollments])
      for (const id of known.keys()) if (there?.has(id) === false) known.delete(id);
    for (const { kind, id } of piece.removed) {
      if (kind === 'provider') providers.delete(id);
      if (kind === 'enrollment') enrollments.delete(id);
      if (kind === 'document') documents.delete(id);
    }
    for (const { provider, stamp } of piece.providers) {
      providers.set(provider.id, provider);
      stamps.set(provider.id, stamp);
    }
    for (const enrollment of piece.enrollments) enrollments.set(enrollment.digest, enrollment);
    for (const [name, json] of Object.entries(piece.documents)) documents.set(name, json);
  }
  return {
    state: {
      providers: [...providers.values()],
      enrollments: [...enrollments.values()],
      documents: Object.fromEntries(documents),
    },
    stamps,
  };
}
