import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import {
  type HistoryQuery,
  type HistoryRows,
  NOTHING_BEFORE,
  type UsageBefore,
  type UsageMessage,
  type UsageReply,
  type UsageWorkerData,
  type UsageWrite,
} from './messages.ts';

/** Keeps usage over restarts. */
export interface UsageStore {
  /** The newest requests at the start, newest first, as JSON. */
  readonly rows: readonly string[];
  /** Of the running day and month, at the start. */
  readonly before: UsageBefore;
  /** False where nothing is ever kept: then nothing need be counted. */
  readonly isKept: boolean;
  /** Why nothing is kept; null while it is. */
  readonly problem: string | null;
  write(write: UsageWrite): void;
  /** Null where nothing is kept or it cannot be read. */
  history(query: HistoryQuery): Promise<HistoryRows | null>;
  close(): Promise<void>;
}

/** For a program, or a test, that keeps nothing. */
export function forgetfulStore(problem: string): UsageStore {
  return {
    rows: [],
    before: NOTHING_BEFORE,
    isKept: false,
    problem,
    write() {},
    history: () => Promise.resolve(null),
    close: () => Promise.resolve(),
  };
}

/** Opens the SQLite file at `path` in a worker thread, and creates it where it is missing. */
export async function openUsageStore(
  path: string,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Promise<UsageStore> {
  const workerData: UsageWorkerData = { path, nowMs: clock.now() };
  const worker = new Worker(workerUrl(), { workerData });
  const opened = Promise.withResolvers<Extract<UsageReply, { kind: 'opened' | 'unusable' }>>();
  const exited = Promise.withResolvers<void>();
  const reads = new Map<number, (rows: HistoryRows | null) => void>();
  let lastId = 0;
  let isOver = false;
  let problem: string | null = null;

  /** Logged when writes begin to fail and when they succeed again, not each of them. */
  function onWritten(code: string | null): void {
    if (code === problem) return;
    if (code === null) log('info', 'usage_written_again');
    else log('error', 'usage_unwritten', { error: code });
    problem = code;
  }

  worker.on('message', (reply: UsageReply) => {
    switch (reply.kind) {
      case 'opened':
      case 'unusable':
        opened.resolve(reply);
        return;
      case 'written':
        onWritten(reply.problem);
        return;
      case 'history':
        reads.get(reply.id)?.(reply.rows);
        reads.delete(reply.id);
    }
  });
  // The message may quote what was being written; the error's name does not.
  worker.on('error', (error) => {
    log('error', 'usage_crashed', { error: error instanceof Error ? error.name : 'unknown' });
  });
  worker.on('exit', () => {
    isOver = true;
    opened.resolve({ kind: 'unusable', message: ENDED });
    for (const resolve of reads.values()) resolve(null);
    reads.clear();
    exited.resolve();
  });

  const first = await opened.promise;
  if (first.kind === 'unusable') {
    log('error', 'usage_unusable', { error: first.message });
    await exited.promise;
    return forgetfulStore(first.message);
  }
  if (first.warning !== null) log('error', 'usage_damaged', { error: first.warning });
  const send = (message: UsageMessage) => worker.postMessage(message, []);
  return {
    rows: first.rows,
    before: first.before,
    isKept: true,
    get problem() {
      if (isOver) return ENDED;
      return problem === null ? null : `The usage database cannot be written (${problem}).`;
    },
    write(write) {
      if (!isOver) send({ kind: 'write', write });
    },
    history(query) {
      if (isOver) return Promise.resolve(null);
      const id = (lastId += 1);
      return new Promise((resolve) => {
        reads.set(id, resolve);
        send({ kind: 'history', id, query });
      });
    },
    close() {
      if (!isOver) send({ kind: 'close' });
      isOver = true;
      return exited.promise;
    },
  };
}

const ENDED = 'The usage database stopped working: restart Switchyard to keep a history again.';

/** Beside this file, with the same extension: `.ts` unbuilt, `.js` in the bundle. */
function workerUrl(): URL {
  return new URL(`./usage-worker${extname(import.meta.filename)}`, import.meta.url);
}
