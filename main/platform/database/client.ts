import type { Worker } from 'node:worker_threads';
import { nameOf } from '../errors.ts';
import type { Log } from '../log.ts';
import type { OpenResult, Operations, Reply, Request } from './thread.ts';

/** A full, read-only or locked disk is a result, not an exception; the message is human-readable. */
export type WriteOutcome =
  { readonly kind: 'written' } | { readonly kind: 'unwritten'; readonly message: string };

/** What one part of the program has in the database. Every call is answered, whatever happens to the thread. */
export interface DatabasePart<Of extends Operations> {
  /** Null if it cannot be read. */
  read<Name extends keyof Of['reads'] & string>(
    name: Name,
    ...input: Parameters<Of['reads'][Name]>
  ): Promise<ReturnType<Of['reads'][Name]> | null>;
  /** Resolves once it is on disk; writes that arrive in the meantime share the next transaction. */
  write<Name extends keyof Of['writes'] & string>(
    name: Name,
    ...input: Parameters<Of['writes'][Name]>
  ): Promise<WriteOutcome>;
  /** Why nothing is written, for people; null while it is. */
  problem(): string | null;
}

export type Database = Awaited<ReturnType<typeof connectDatabase>>;

const CLOSED = 'The database is closed.';
const ENDED =
  'The database stopped working: restart Inglenook, and check its log if that does not help.';

/** The caller's side of a database thread; resolves once that has opened the file, or cannot. */
export async function connectDatabase(
  thread: Pick<Worker, 'on' | 'postMessage'>,
  { log }: { readonly log: Log },
) {
  const waiting = new Map<number, (reply: Reply) => void>();
  const opening = Promise.withResolvers<OpenResult>();
  const exited = Promise.withResolvers<void>();
  let lastId = 0;
  /** Why calls are no longer accepted; null while the thread runs. */
  let over: string | null = null;

  function onMessage(message: OpenResult | readonly Reply[]): void {
    if ('kind' in message) {
      // A thread that cannot open the file ends by itself.
      if (message.kind === 'unusable') over = message.message;
      return opening.resolve(message);
    }
    for (const reply of message) {
      waiting.get(reply.id)?.(reply);
      waiting.delete(reply.id);
    }
  }

  function onEnd(): void {
    if (over === null) log('error', 'database_ended', { unanswered: waiting.size });
    over ??= ENDED;
    opening.resolve({ kind: 'unusable', message: over });
    for (const [id, answer] of waiting) answer({ id, problem: over });
    waiting.clear();
    exited.resolve();
  }

  thread.on('message', onMessage);
  // Only the error's name: its message may quote the data that was being written.
  thread.on('error', (error) => log('error', 'database_crashed', { error: nameOf(error) }));
  thread.on('exit', onEnd);

  function ask(request: Omit<Request, 'id'>): Promise<Omit<Reply, 'id'>> {
    if (over !== null) return Promise.resolve({ problem: over });
    return new Promise((resolve) => {
      const id = (lastId += 1);
      waiting.set(id, resolve);
      thread.postMessage({ ...request, id } satisfies Request, []);
    });
  }

  const opened = await opening.promise;
  if (opened.kind === 'unusable') {
    log('error', 'database_unusable', { error: opened.message });
    await exited.promise;
  } else if (opened.warning !== null) log('error', 'database_damaged', { error: opened.warning });

  return {
    /** What the owner should know of the file, human-readable; null if it is as it should be. */
    notice: opened.kind === 'unusable' ? opened.message : opened.warning,
    part<Of extends Operations>(part: string): DatabasePart<Of> {
      let problem: string | null = null;

      /** Logs when writes begin to fail and when they succeed again, so that a full disk is logged once. */
      function note(now: string | null): void {
        if (now === problem || over !== null) return;
        if (now === null) log('info', 'database_written_again', { part });
        else log('error', 'database_unwritten', { part, error: now });
        problem = now;
      }

      return {
        async read(name, ...input) {
          const reply = await ask({ kind: 'read', part, name, input });
          if (reply.problem === null) return reply.value as never;
          if (over === null) log('warn', 'database_unread', { part, name, error: reply.problem });
          return null;
        },
        async write(name, ...input) {
          const reply = await ask({ kind: 'write', part, name, input });
          note(reply.problem);
          return reply.problem === null
            ? { kind: 'written' }
            : { kind: 'unwritten', message: reply.problem };
        },
        problem: () => over ?? problem,
      };
    },
    /** Writes what was sent before, and closes the file. */
    close(): Promise<void> {
      if (over === null) thread.postMessage(null, []);
      over ??= CLOSED;
      return exited.promise;
    },
  };
}
