import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { assertNever } from '#shared/assert.ts';
import { codeOf, openUsageDatabase } from './database.ts';
import {
  NOTHING_BEFORE,
  type UsageMessage,
  type UsageQuestion,
  type UsageReply,
  type UsageWorkerData,
} from './messages.ts';
import { createUsageQueries, HOUR_MS, MAX_REQUESTS, pageOf, type UsageQueries } from './queries.ts';

/* The thread of the usage database, so that no query and no slow disk can block the gateway. */

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
        const { write } = message;
        send({ kind: 'written', problem: attempt(() => queries.write(write)) });
        attempt(() => pruneHourly(write.nowMs));
        return;
      }
      case 'swap':
        send({ kind: 'written', problem: attempt(() => queries.swap(...message.upstreams)) });
        return;
      case 'question': {
        const { id, question } = message;
        void answerTo(question, queries).then((given) =>
          send({ kind: 'answer', id, answer: given }),
        );
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

type ReadQueries = Pick<UsageQueries, 'history' | 'rows' | 'row' | 'asked'>;

/** Null if the database cannot be read. */
async function answerTo(question: UsageQuestion, queries: ReadQueries): Promise<unknown> {
  try {
    return await read(question, queries);
  } catch {
    return null;
  }
}

async function read([name, by]: UsageQuestion, queries: ReadQueries): Promise<unknown> {
  switch (name) {
    case 'history':
      return queries.history(by);
    case 'requests':
      return pageOf(await parsed(queries.rows(2 * MAX_REQUESTS)), by);
    case 'request': {
      const text = queries.row(by);
      return text === null ? null : ((await parsed([text]))[0] ?? null);
    }
    case 'asked':
      return queries.asked(by);
    default:
      return assertNever(name, 'question');
  }
}

/** The schema is loaded only when rows are read: loading it would slow down every start. */
async function parsed(texts: readonly string[]) {
  const { keptRows } = await import('./kept-rows.ts');
  return keptRows(texts);
}

if (parentPort !== null) serve(parentPort, workerData as UsageWorkerData);
