import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { Database } from 'better-sqlite3';
import { explain, failureOf } from './failure.ts';
import { openFile } from './file.ts';

/* The database thread, so that no query and no slow disk can block the gateway. */

/** What one part of the program does in the database, by name. */
export interface Operations {
  readonly reads: Readonly<Record<string, (...input: never[]) => unknown>>;
  /** Each is stored as a whole or not at all. */
  readonly writes: Readonly<Record<string, (...input: never[]) => void>>;
}

export interface Schema {
  /** A released step is never changed; new ones are added at the end, whichever part they belong to. */
  readonly migrations: readonly string[];
  readonly parts: Readonly<Record<string, (db: Database) => Operations>>;
}

export interface ThreadData {
  readonly path: string;
  /** Wall-clock ms, for the name of a damaged file. */
  readonly nowMs: number;
}

export type OpenResult =
  /** `warning` is human-readable; null if the file was intact. */
  | { readonly kind: 'open'; readonly warning: string | null }
  /** The thread ends by itself. */
  | { readonly kind: 'unusable'; readonly message: string };

export interface Request {
  readonly kind: 'read' | 'write';
  readonly id: number;
  readonly part: string;
  readonly name: string;
  readonly input: readonly unknown[];
}

export interface Reply {
  readonly id: number;
  readonly value?: unknown;
  /** Why it failed, human-readable; null if it succeeded. */
  readonly problem: string | null;
}

/** Messages per transaction, as acknowledgements wait for all of it. */
const MAX_BATCH = 100;

/** Messages are handled in the order in which they were sent: a read sees every earlier write, and a close comes last. */
export function serveDatabase(
  port: MessagePort,
  { path, nowMs }: ThreadData,
  schema: Schema,
): void {
  const opened = openFile(path, schema.migrations, nowMs);
  if (opened.kind === 'unusable') {
    port.postMessage(opened satisfies OpenResult);
    port.close();
    return;
  }
  const { db, warning } = opened;
  const run = createRunner(db, path, schema.parts);
  port.postMessage({ kind: 'open', warning } satisfies OpenResult);
  port.on('message', (first: Request | null) => {
    const requests = [first, ...waiting(port)];
    const sent = requests.filter((request) => request !== null);
    if (sent.length > 0) port.postMessage(run(sent));
    if (sent.length === requests.length) return;
    db.close();
    port.close();
  });
}

/** Messages that have arrived in the meantime go into the same transaction. Null: close. */
function* waiting(port: MessagePort): Generator<Request | null> {
  for (let taken = 1; taken < MAX_BATCH; taken += 1) {
    const next = receiveMessageOnPort(port);
    if (next === undefined) return;
    yield next.message as Request | null;
  }
}

/** Runs requests, the writes among them in one transaction; they are on disk once this returns. */
export function createRunner(db: Database, path: string, parts: Schema['parts']) {
  const operations = new Map(Object.entries(parts).map(([name, part]) => [name, part(db)]));
  const problemOf = (error: unknown) => explain(failureOf(error), path);

  function call({ kind, part, name, input }: Request): unknown {
    const operation = operations.get(part)?.[`${kind}s`][name] as (...input: unknown[]) => unknown;
    return operation(...input);
  }

  function read(request: Request): Reply {
    try {
      return { id: request.id, value: call(request), problem: null };
    } catch (error) {
      return { id: request.id, problem: problemOf(error) };
    }
  }

  const write = db.transaction(call);
  const writeAll = db.transaction((requests: readonly Request[]) =>
    requests.map((request): Reply => {
      try {
        write(request);
        return { id: request.id, problem: null };
      } catch (error) {
        // Otherwise SQLite has undone the others too, as it may on a full disk.
        if (db.inTransaction) return { id: request.id, problem: problemOf(error) };
        throw error;
      }
    }),
  );

  function commit(requests: readonly Request[]): readonly Reply[] {
    if (requests.length === 0) return [];
    try {
      return writeAll.immediate(requests);
    } catch (error) {
      const problem = problemOf(error);
      return requests.map(({ id }) => ({ id, problem }));
    }
  }

  return (requests: readonly Request[]): readonly Reply[] => [
    ...commit(requests.filter(({ kind }) => kind === 'write')),
    ...requests.filter(({ kind }) => kind === 'read').map(read),
  ];
}
