import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { createPending } from '../../platform/async.ts';
import type { Clock } from '../../platform/clock.ts';
import { nameOf } from '../../platform/errors.ts';
import type { Log } from '../../platform/log.ts';
import type { Unusable } from './errors.ts';
import {
  type Store,
  type StoreChange,
  type StoredEvent,
  type StoredState,
  type WriteResult,
  EVENTS_KEPT,
} from './store.ts';

/*
 * Messages between the registry's thread and the database thread. They are processed in order, so a read sees every
 * earlier write, and a close comes after all of them.
 */

export interface StoreWorkerData {
  readonly path: string;
  /** Wall-clock ms: for the name of a damaged file, and to find expired enrolments. */
  readonly nowMs: number;
}

export interface WriteRequest {
  readonly id: number;
  readonly changes: readonly StoreChange[];
}

export interface EventsRequest {
  readonly kind: 'events';
  readonly id: number;
  readonly providerId: string;
  readonly limit: number;
}

export type StoreRequest =
  ({ readonly kind: 'write' } & WriteRequest) | EventsRequest | { readonly kind: 'close' };

/** The result of one write; those of a transaction are answered together. */
export interface SettledWrite {
  readonly id: number;
  readonly result: WriteResult;
}

/** Parts of a table that could not be read. */
export interface Unreadable {
  readonly table: 'providers' | 'enrollments' | 'documents';
  /** `row`: the row is skipped. `record`, `verification`: the rest of the row is kept. */
  readonly part: 'row' | 'record' | 'verification';
  readonly rows: number;
  /** Id of the first such row; never its content. */
  readonly first: string;
  readonly problem: string;
}

export type StoreOpening =
  | {
      readonly kind: 'open';
      readonly state: StoredState;
      readonly unreadable: readonly Unreadable[];
      /** Human-readable; null if the file was intact. */
      readonly warning: string | null;
    }
  | Unusable;

export type StoreReply =
  | { readonly kind: 'opening'; readonly opening: StoreOpening }
  | { readonly kind: 'settled'; readonly writes: readonly SettledWrite[] }
  | {
      readonly kind: 'events';
      readonly id: number;
      readonly events: readonly StoredEvent[];
      /** Why there are no events; null if they could be read. */
      readonly problem: string | null;
    };

const CLOSED = "The registry's database is closed.";
const ENDED =
  "The registry's database stopped working: restart Inglenook, and check its log if that does not help.";

/**
 * This thread's side of the connection to the database thread. Every call is answered, whatever happens to that; one
 * that ended before it could report is `failed`.
 */
export function createStoreClient(worker: Worker, log: Log) {
  const writes = createPending<WriteResult>();
  const reads = createPending<readonly StoredEvent[]>();
  const opening = Promise.withResolvers<StoreOpening>();
  const exited = Promise.withResolvers<void>();
  const note = createWriteNotes(log);
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
          writes.answer(id, result);
        }
        return;
      case 'events':
        if (reply.problem !== null) log('warn', 'store_unread', { error: reply.problem });
        reads.answer(reply.id, reply.events);
    }
  }

  function onExit(): void {
    if (over === null) log('error', 'store_ended', { unanswered: writes.count() });
    over ??= ENDED;
    opening.resolve({ kind: 'unusable', reason: 'failed', message: ENDED });
    writes.answerAll({ kind: 'unwritten', message: over });
    reads.answerAll([]);
    exited.resolve();
  }

  worker.on('message', onReply);
  // Only the error's name: its message may quote the data that was being written.
  worker.on('error', (error) => log('error', 'store_crashed', { error: nameOf(error) }));
  worker.on('exit', onExit);

  const send = (request: StoreRequest) => worker.postMessage(request, []);
  const store: Store = {
    write(changes) {
      if (over !== null) return Promise.resolve({ kind: 'unwritten', message: over });
      return writes.ask((id) => send({ kind: 'write', id, changes }));
    },
    events(providerId, limit) {
      if (over !== null) return Promise.resolve([]);
      return reads.ask((id) => send({ kind: 'events', id, providerId, limit }));
    },
    close() {
      if (over === null) send({ kind: 'close' });
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

/** Messages and warnings are human-readable. */
export type OpenedStore =
  | {
      readonly kind: 'open';
      readonly store: Store;
      readonly state: StoredState;
      /** The file was damaged and renamed; null if it was intact. */
      readonly warning: string | null;
    }
  | Unusable;

/**
 * Opens the SQLite file at `path` in a worker thread, and creates it and its directory if they are missing. If it is
 * `unusable`, `createMemoryStore` keeps the gateway routing.
 */
export async function openStore(
  path: string,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Promise<OpenedStore> {
  const data: StoreWorkerData = { path, nowMs: clock.now() };
  const { opening, store } = createStoreClient(new Worker(workerUrl(), { workerData: data }), log);
  const opened = await opening;
  if (opened.kind === 'unusable') {
    log('error', 'store_unusable', { reason: opened.reason, error: opened.message });
    await store.close();
    return opened;
  }
  const { state, unreadable, warning } = opened;
  if (warning !== null) log('error', 'store_damaged', { error: warning });
  for (const found of unreadable) logUnreadable(found, log);
  return { kind: 'open', store, state, warning };
}

/** Next to this file, with the same extension: `.ts` from source, `.js` in the bundle. */
function workerUrl(): URL {
  return new URL(`./store-worker${extname(import.meta.filename)}`, import.meta.url);
}

function logUnreadable(found: Unreadable, log: Log): void {
  log('warn', found.part === 'row' ? 'store_row_left_out' : 'store_part_left_out', { ...found });
}

/**
 * A store without persistence, for when the database cannot be used: this machine's own agent and routing continue.
 * Enrolments are refused with `reason`, the database's error message, because a machine whose enrolment is acknowledged
 * and then forgotten would stay out unnoticed.
 */
export function createMemoryStore(reason: string): Store {
  const histories = new Map<string, StoredEvent[]>();

  function apply(change: StoreChange): void {
    if (change.kind === 'provider' && !histories.has(change.provider.id))
      histories.set(change.provider.id, []);
    if (change.kind === 'provider_removed') histories.delete(change.id);
    if (change.kind !== 'event') return;
    const history = histories.get(change.event.providerId);
    history?.unshift(change.event);
    history?.splice(EVENTS_KEPT);
  }

  return {
    write(changes) {
      if (changes.some(isOfEnrollment)) return answer({ kind: 'unwritten', message: reason });
      for (const change of changes) apply(change);
      return answer({ kind: 'written' });
    },
    events: (providerId, limit) =>
      Promise.resolve(histories.get(providerId)?.slice(0, Math.max(0, limit)) ?? []),
    close: () => Promise.resolve(),
  };
}

/** A token is created or used: other machines join with it. */
function isOfEnrollment({ kind }: StoreChange): boolean {
  return kind === 'enrollment' || kind === 'enrollment_removed';
}

const answer = (result: WriteResult) => Promise.resolve(result);
