import type { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { nameOf } from '../../platform/errors.ts';
import type { Log } from '../../platform/log.ts';
import type { StoreOpening, StoreReply, StoreRequest, WriteRequest } from './protocol.ts';
import type { Store, StoredEvent, WriteResult } from './store.ts';

/** This thread's side of the connection to the database thread. */
export interface StoreClient {
  /** A thread that ended before it could report is `failed`. */
  readonly opening: Promise<StoreOpening>;
  readonly store: Store;
}

const CLOSED = "The registry's database is closed.";
const ENDED =
  "The registry's database stopped working: restart Switchyard, and check its log if that does not help.";

/** Every call is answered, whatever happens to the database thread. */
export function createStoreClient(worker: Worker, log: Log): StoreClient {
  const writes = new Map<number, (result: WriteResult) => void>();
  const reads = new Map<number, (events: readonly StoredEvent[]) => void>();
  const opening = Promise.withResolvers<StoreOpening>();
  const exited = Promise.withResolvers<void>();
  const note = createWriteNotes(log);
  let lastId = 0;
  /** Why calls are no longer accepted; null while the thread runs. */
  let over: string | null = null;

  function onReply(reply: StoreReply): void {
    switch (reply.kind) {
      case 'opening':
        // A thread that cannot open the file exits by itself, which needs no log line.
        if (reply.opening.kind === 'unusable') over = reply.opening.message;
        opening.resolve(reply.opening);
        return;
      case 'settled':
        for (const { id, result } of reply.writes) {
          note(result);
          take(writes, id)?.(result);
        }
        return;
      case 'events':
        if (reply.problem !== null) log('warn', 'store_unread', { error: reply.problem });
        take(reads, reply.id)?.(reply.events);
    }
  }

  function onExit(): void {
    if (over === null) log('error', 'store_ended', { unanswered: writes.size });
    over ??= ENDED;
    opening.resolve({ kind: 'unusable', reason: 'failed', message: ENDED });
    for (const resolve of writes.values()) resolve({ kind: 'unwritten', message: over });
    for (const resolve of reads.values()) resolve([]);
    writes.clear();
    reads.clear();
    exited.resolve();
  }

  worker.on('message', onReply);
  // Only the error's name: its message may quote the data that was being written.
  worker.on('error', (error) => log('error', 'store_crashed', { error: nameOf(error) }));
  worker.on('exit', onExit);

  const outbox = createOutbox(
    (request: StoreRequest) => worker.postMessage(request, []),
    systemClock,
  );
  const store: Store = {
    write(changes) {
      if (over !== null) return Promise.resolve({ kind: 'unwritten', message: over });
      const id = (lastId += 1);
      return new Promise((resolve) => {
        writes.set(id, resolve);
        outbox.write({ id, changes });
      });
    },
    events(providerId, limit) {
      if (over !== null) return Promise.resolve([]);
      const id = (lastId += 1);
      return new Promise((resolve) => {
        reads.set(id, resolve);
        outbox.ask({ kind: 'events', id, providerId, limit });
      });
    },
    close() {
      if (over === null) outbox.ask({ kind: 'close' });
      over ??= CLOSED;
      return exited.promise;
    },
  };
  return { opening: opening.promise, store };
}

/** Logs only when writes start to fail and when they succeed again, so that a full disk is logged once. */
function createWriteNotes(log: Log): (result: WriteResult) => void {
  let failing: string | null = null;
  return (result) => {
    const message = result.kind === 'unwritten' ? result.message : null;
    if (message === failing) return;
    if (message === null) log('info', 'store_written_again');
    else log('error', 'store_unwritten', { error: message });
    failing = message;
  };
}

function take<T>(waiting: Map<number, T>, id: number): T | undefined {
  const found = waiting.get(id);
  waiting.delete(id);
  return found;
}

/** Least time between two messages of writes. Heartbeats that arrive within it share a message, and mostly a commit. */
const BATCH_MS = 50;
/** Writes per message, which is copied at once: thousands would block this thread. */
const MAX_BATCH = 100;

/**
 * Each message wakes the database thread and each answer this one, so many small ones cost more than a few large ones.
 */
export function createOutbox(post: (request: StoreRequest) => void, clock: Clock) {
  let waiting: WriteRequest[] = [];
  let cancelFlush: (() => void) | null = null;
  let lastTicks = -Infinity;

  function flush(): void {
    cancelFlush?.();
    cancelFlush = null;
    const writes = waiting;
    waiting = [];
    if (writes.length === 0) return;
    lastTicks = clock.ticks();
    post({ kind: 'writes', writes });
  }

  return {
    /** Sent together with others, or at once if none was sent recently. */
    write(request: WriteRequest): void {
      waiting.push(request);
      if (waiting.length >= MAX_BATCH) flush();
      else cancelFlush ??= clock.after(Math.max(0, lastTicks + BATCH_MS - clock.ticks()), flush);
    },
    /** Sent now, after all earlier writes. */
    ask(request: Exclude<StoreRequest, { readonly kind: 'writes' }>): void {
      flush();
      post(request);
    },
  };
}
