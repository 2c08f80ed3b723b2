import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { createPending } from '../../platform/async.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { NOTHING_BEFORE, type UsageBefore, type UsageWrite } from './queries.ts';
import type { UsageMessage, UsageReads, UsageReply, UsageWorkerData } from './usage-worker.ts';

/** Null also if nothing is stored, or it cannot be read. */
type Reads = {
  readonly [Name in keyof UsageReads]: (
    by: Parameters<UsageReads[Name]>[0],
  ) => Promise<Awaited<ReturnType<UsageReads[Name]>> | null>;
};

/** Stores usage across restarts. */
export interface UsageStore extends Reads {
  readonly rows: readonly string[];
  /** The sums of the current day and month at the start. */
  readonly before: UsageBefore;
  /** False if nothing is ever stored: then nothing needs to be counted. */
  readonly isKept: boolean;
  /** Why nothing is stored; null while it is. */
  readonly problem: string | null;
  /** `onUnwritten`: nothing of it is stored. */
  write(write: UsageWrite, onUnwritten: () => void): void;
  close(): Promise<void>;
}

/** For a program, or a test, that stores nothing. */
export function forgetfulStore(problem: string): UsageStore {
  return {
    rows: [],
    before: NOTHING_BEFORE,
    isKept: false,
    problem,
    write() {},
    history: () => Promise.resolve(null),
    requests: () => Promise.resolve(null),
    request: () => Promise.resolve(null),
    asked: () => Promise.resolve(null),
    close: () => Promise.resolve(),
  };
}

/** Opens the SQLite file at `path` in a worker thread, and creates it if it is missing. */
export async function openUsageStore(
  path: string,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Promise<UsageStore> {
  const workerData: UsageWorkerData = { path, nowMs: clock.now() };
  const worker = new Worker(workerUrl(), { workerData });
  const opened = Promise.withResolvers<Extract<UsageReply, { kind: 'opened' | 'unusable' }>>();
  const exited = Promise.withResolvers<void>();
  const questions = createPending<unknown>();
  let isOver = false;
  let problem: string | null = null;

  /** Logs when writes begin to fail and when they succeed again, not each failure. */
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
        questions.answer(reply.id, reply.problem === null);
        return;
      case 'answer':
        questions.answer(reply.id, reply.answer);
    }
  });
  // The message may quote what was being written; the error's name does not.
  worker.on('error', (error) => {
    log('error', 'usage_crashed', { error: error instanceof Error ? error.name : 'unknown' });
  });
  worker.on('exit', () => {
    isOver = true;
    opened.resolve({ kind: 'unusable', message: ENDED });
    questions.answerAll(null);
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
  const asking = <Name extends keyof Reads>(read: Name) =>
    ((by) =>
      questions.ask((id) => {
        if (isOver) questions.answer(id, null);
        else send({ kind: 'question', id, read, by });
      })) as Reads[Name];
  return {
    rows: first.rows,
    before: first.before,
    isKept: true,
    get problem() {
      if (isOver) return ENDED;
      return problem === null ? null : `The usage database cannot be written (${problem}).`;
    },
    write(write, onUnwritten) {
      if (isOver) return;
      void questions
        .ask((id) => send({ kind: 'write', id, write }))
        .then((isWritten) => isWritten === true || onUnwritten());
    },
    history: asking('history'),
    requests: asking('requests'),
    request: asking('request'),
    asked: asking('asked'),
    close() {
      if (!isOver) send({ kind: 'close' });
      isOver = true;
      return exited.promise;
    },
  };
}

const ENDED = 'The usage database stopped working: restart Inglenook to store a history again.';

/** Next to this file, with the same extension: `.ts` in the source, `.js` in the bundle. */
function workerUrl(): URL {
  return new URL(`./usage-worker${extname(import.meta.filename)}`, import.meta.url);
}
