import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { RequestsWanted } from '#shared/request-filter.ts';
import { codeOf, openUsageDatabase } from './database.ts';
import {
  createUsageQueries,
  HOUR_MS,
  MAX_ROWS_KEPT,
  NOTHING_BEFORE,
  pageOf,
  type UsageBefore,
  type UsageQueries,
  type UsageWrite,
} from './queries.ts';

/*
 * The thread of the usage database, so that no query and no slow disk can block the gateway. Messages are handled in
 * order, so a read sees every write that was sent before it.
 */

export interface UsageWorkerData {
  readonly path: string;
  readonly nowMs: number;
}

export type UsageMessage =
  | { readonly kind: 'write'; readonly id: number; readonly write: UsageWrite }
  | {
      readonly kind: 'question';
      readonly id: number;
      readonly read: keyof UsageReads;
      /** The argument of the read. */
      readonly by: unknown;
    }
  | { readonly kind: 'close' };

export type UsageReply =
  | {
      readonly kind: 'opened';
      /** For people; null if there is none. */
      readonly warning: string | null;
      /** The newest requests, newest first, as JSON. */
      readonly rows: readonly string[];
      readonly before: UsageBefore;
    }
  | { readonly kind: 'unusable'; readonly message: string }
  /** Why the write failed; null if it succeeded. */
  | { readonly kind: 'written'; readonly id: number; readonly problem: string | null }
  /** Null if it cannot be read. */
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown };

/** Rows of the live feed after a start. */
const ROWS_AT_START = 100;

function serve(port: MessagePort, { path, nowMs }: UsageWorkerData): void {
  const send = (reply: UsageReply) => port.postMessage(reply);
  const opened = openUsageDatabase(path, nowMs);
  if (opened.kind === 'unusable') {
    send(opened);
    return;
  }
  const { db, warning } = opened;
  const queries = createUsageQueries(db);
  const reads = readsOf(queries);
  let prunedAt = 0;

  /** A failure does not end the thread: the disk may have space again later. */
  function attempt(act: () => void): string | null {
    try {
      act();
      return null;
    } catch (error) {
      return codeOf(error);
    }
  }

  function pruneHourly(now: number): void {
    // The clock may have been set back.
    if (Math.abs(now - prunedAt) < HOUR_MS) return;
    prunedAt = now;
    queries.prune(now);
  }

  function answer(message: UsageMessage): void {
    switch (message.kind) {
      case 'write': {
        const { id, write } = message;
        send({ kind: 'written', id, problem: attempt(() => queries.write(write)) });
        attempt(() => pruneHourly(write.nowMs));
        return;
      }
      case 'question': {
        const { id, by } = message;
        const read = reads[message.read] as (by: unknown) => unknown;
        const reply = (found: unknown) => send({ kind: 'answer', id, answer: found });
        void Promise.resolve(by)
          .then(read)
          .then(reply, () => reply(null));
        return;
      }
      case 'close':
        db.close();
        port.close();
    }
  }

  let rows: readonly string[] = [];
  let before = NOTHING_BEFORE;
  attempt(() => pruneHourly(nowMs));
  attempt(() => (rows = queries.rows(ROWS_AT_START)));
  attempt(() => (before = queries.before()));
  send({ kind: 'opened', warning, rows, before });
  port.on('message', answer);
}

/** What is read of the database, by one argument each. */
export type UsageReads = ReturnType<typeof readsOf>;

function readsOf(queries: UsageQueries) {
  return {
    history: queries.history,
    requests: async (wanted: RequestsWanted) =>
      pageOf(await parsed(queries.rows(MAX_ROWS_KEPT)), wanted),
    /** Null if it is not stored. */
    async request(id: string) {
      const text = queries.row(id);
      return text === null ? null : ((await parsed([text]))[0] ?? null);
    },
    /** What apps asked for in the 30 days before a time. */
    asked: queries.asked,
  };
}

/** The schema is loaded only when rows are read: loading it would slow down every start. */
async function parsed(texts: readonly string[]) {
  const { keptRows } = await import('./kept-rows.ts');
  return keptRows(texts);
}

if (parentPort !== null) serve(parentPort, workerData as UsageWorkerData);
