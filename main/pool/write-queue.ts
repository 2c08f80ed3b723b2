import type { SettledWrite, WriteRequest } from '../registry/store/protocol.ts';
import type { WriteResult } from '../registry/store/store.ts';
import { commit } from './commit.ts';
import { databaseFailureOf, explainDatabase } from './connection.ts';
import type { PoolWorkerData } from './protocol.ts';
import { type Session, writerOf } from './session.ts';

/** Writes that wait for the database. */
export type WriteQueue = ReturnType<typeof createWriteQueue>;

interface QueueDeps {
  readonly data: PoolWorkerData;
  readonly session: () => Session | null;
  /** Why there is no session. */
  readonly problem: () => string;
  readonly onSettled: (writes: readonly SettledWrite[]) => void;
  readonly onFailure: (error: unknown) => void;
}

/** Limits a commit, because its acknowledgements and the commits of other gateways wait for all of it. */
const MAX_BATCH = 100;
/** More than 10,000 machines send before a database counts as away. */
const MAX_WAITING = 5000;

export function createWriteQueue(deps: QueueDeps) {
  const { data, onSettled } = deps;
  const writer = { ...writerOf(data), shown: data.shown };
  const waiting: WriteRequest[] = [];
  let isCommitting = false;
  const idle: (() => void)[] = [];

  async function drain(): Promise<void> {
    if (isCommitting) return;
    isCommitting = true;
    while (waiting.length > 0) {
      const session = deps.session();
      if (session === null) refuse(deps.problem());
      else onSettled(await together(session, waiting.splice(0, MAX_BATCH)));
    }
    isCommitting = false;
    for (const resolve of idle.splice(0)) resolve();
  }

  async function together(
    session: Session,
    requests: readonly WriteRequest[],
  ): Promise<readonly SettledWrite[]> {
    try {
      return await commit(session.writer, requests, writer);
    } catch (error) {
      const failure = databaseFailureOf(error);
      if (failure.kind === 'refused' && requests.length > 1) {
        const settledEach: SettledWrite[] = [];
        for (const request of requests) settledEach.push(...(await together(session, [request])));
        return settledEach;
      }
      if (failure.kind !== 'refused') deps.onFailure(error);
      return settled(requests, explainDatabase(failure, data.shown));
    }
  }

  function refuse(message: string): void {
    if (waiting.length > 0) onSettled(settled(waiting.splice(0), message));
  }

  return {
    add(requests: readonly WriteRequest[]): void {
      const room = Math.max(0, MAX_WAITING - waiting.length);
      waiting.push(...requests.slice(0, room));
      const refused = requests.slice(room);
      if (refused.length > 0)
        onSettled(
          settled(refused, `Too many writes are waiting for the pool's database ${data.shown}.`),
        );
      void drain();
    },
    /** Answers all waiting writes with `message`. */
    refuse,
    /** Resolves once the queue is empty. */
    drained(): Promise<void> {
      if (!isCommitting && waiting.length === 0) return Promise.resolve();
      return new Promise((resolve) => {
        idle.push(resolve);
        void drain();
      });
    },
  };
}

function settled(requests: readonly WriteRequest[], message: string): SettledWrite[] {
  const result: WriteResult = { kind: 'unwritten', message };
  return requests.map(({ id }) => ({ id, result }));
}
