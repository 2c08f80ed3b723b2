import { EventEmitter } from 'node:events';
import type { Worker } from 'node:worker_threads';
import {
  type GatewayFigures,
  type GatewayInPool,
  type LeaseSubject,
  NO_TOTALS,
  type PacedReply,
  type PoolAnswer,
  type PoolChanges,
  type PoolReply,
  type PoolRequest,
  type PoolStatus,
  type Stamp,
  type PoolUpdate,
  type SharedPrefix,
} from './protocol.ts';
import { createPending } from '../platform/async.ts';
import type { Log } from '../platform/log.ts';

/** What the gateways of a pool share, as this one sees it; no call waits for a database that does not answer. */
export type Pool = ReturnType<typeof createPoolClient>;

/** The right to do what only one gateway may do at a time. */
export interface Lease {
  /** Higher than that of any earlier lease of this name. */
  readonly fence: number;
  /** Aborts when the lease could not be renewed in time. */
  readonly lost: AbortSignal;
  release(): void;
}

const UNKNOWN: PoolStatus = {
  database: 'away',
  problem: null,
  gateways: [],
  totals: NO_TOTALS,
};

/** This thread's side of the pool; the store is another client of the same worker thread. */
export function createPoolClient(worker: Worker, gateway: GatewayInPool, log: Log) {
  const told = new EventEmitter<{
    changes: [PoolChanges];
    status: [PoolStatus];
    news: [];
    prefixes: [readonly SharedPrefix[]];
  }>();
  const requests = createRequests(worker);
  const held = createHeldLeases((name) => requests.tell({ kind: 'release', name }));
  let status = UNKNOWN;
  let stamps: ReadonlyMap<string, Stamp> = new Map();

  worker.on('message', (reply: PoolReply) => {
    switch (reply.kind) {
      case 'changes':
        told.emit('changes', reply.changes);
        return taken(reply.kind);
      case 'settled':
        return taken(reply.kind);
      case 'status':
        return note(reply.status);
      case 'answered':
        return requests.answer(reply.id, reply.answer);
      case 'lost':
        return held.lose(reply.name);
      case 'news':
        return void told.emit('news');
      case 'prefixes':
        return void told.emit('prefixes', reply.prefixes);
      case 'opening':
        if (reply.opening.kind === 'open') ({ stamps } = reply.opening);
        return;
      case 'events':
      // Handled by the store's client.
    }
  });
  worker.on('exit', () => held.loseAll());

  /** Sent after everything else that waits in this thread. */
  function taken(what: PacedReply['kind']): void {
    setImmediate(() => requests.tell({ kind: 'taken', what }));
  }

  function note(now: PoolStatus): void {
    if (now.database !== status.database) {
      if (now.database === 'away') log('error', 'pool_away', { error: now.problem });
      else log('info', 'pool_connected');
    }
    status = now;
    told.emit('status', now);
  }

  return {
    gateway,
    status: (): PoolStatus => status,
    show: (figures: GatewayFigures) => requests.tell({ kind: 'figures', figures }),
    /** `listener` gets the changes of all gateways. */
    onChanges: (listener: (changes: PoolChanges) => void) => void told.on('changes', listener),
    /** Called when the database starts or stops answering, and regularly in between. */
    onStatus: (listener: (status: PoolStatus) => void) => void told.on('status', listener),
    /** Null while another gateway holds the lease or the database does not answer. */
    async lease(name: string, subject: LeaseSubject | null = null): Promise<Lease | null> {
      if (status.database === 'away') return null;
      const fence = await requests.ask<number>((id) => ({ kind: 'lease', id, name, subject }));
      return fence === null ? null : held.add(name, fence);
    },
    /** Resolves once this gateway has read what was committed before the call, or the database does not answer. */
    async refresh(): Promise<void> {
      if (status.database === 'connected') await requests.ask((id) => ({ kind: 'refresh', id }));
    },
    /** Sends news to the other gateways and receives theirs; null if the database does not answer. */
    async exchange(update: PoolUpdate): Promise<PoolAnswer | null> {
      if (status.database === 'away') return null;
      return requests.ask<PoolAnswer>((id) => ({ kind: 'exchange', id, update }));
    },
    onNews: (listener: () => void) => void told.on('news', listener),
    /** Called with what machines have read, as far as other gateways tell. */
    onPrefixes: (listener: (prefixes: readonly SharedPrefix[]) => void) =>
      void told.on('prefixes', listener),
    /** Of the providers that the store held at the start. */
    stamps: (): ReadonlyMap<string, Stamp> => stamps,
  };
}

/** Requests to the database thread; each is answered, whatever happens to that thread. */
function createRequests(worker: Worker) {
  const pending = createPending<unknown>();
  let isEnded = false;
  worker.on('exit', () => {
    isEnded = true;
    pending.answerAll(null);
  });
  const tell = (request: PoolRequest) => {
    if (!isEnded) worker.postMessage(request, []);
  };
  return {
    tell,
    /** The type of the answer follows from the request's kind. */
    ask<Answer>(request: (id: number) => PoolRequest): Promise<Answer | null> {
      if (isEnded) return Promise.resolve(null);
      return pending.ask((id) => tell(request(id))) as Promise<Answer | null>;
    },
    answer: pending.answer,
  };
}

function createHeldLeases(release: (name: string) => void) {
  const held = new Map<string, AbortController>();
  function lose(name: string): void {
    const controller = held.get(name);
    held.delete(name);
    controller?.abort();
  }
  return {
    add(name: string, fence: number): Lease {
      const controller = new AbortController();
      held.set(name, controller);
      return {
        fence,
        lost: controller.signal,
        release() {
          if (held.get(name) !== controller) return;
          held.delete(name);
          release(name);
        },
      };
    },
    lose,
    loseAll() {
      for (const name of held.keys()) lose(name);
    },
  };
}
