import type { Worker } from 'node:worker_threads';
import type { PoolHeard, PoolTold } from '#shared/pool-news.ts';
import type { Log } from '../../../platform/log.ts';
import {
  type GatewayFigures,
  type GatewayInPool,
  NO_TOTALS,
  type PacedReply,
  type PoolChanges,
  type PoolReply,
  type PoolRequest,
  type PoolStanding,
} from './protocol.ts';

/** What the gateways of a pool share, as this one sees it; nothing here waits for the database to come back. */
export interface Pool {
  /** This gateway. */
  readonly gateway: GatewayInPool;
  standing(): PoolStanding;
  /** What the others see of this gateway from now on. */
  show(figures: GatewayFigures): void;
  /** Called with what any gateway has changed. */
  onChanges(listener: (changes: PoolChanges) => void): void;
  /** Called when the database comes or goes, and every now and then. */
  onStanding(listener: (standing: PoolStanding) => void): void;
  /** Null while another gateway holds it or the database is away. */
  lease(name: string, subject?: LeaseSubject): Promise<Lease | null>;
  /** Resolves once this gateway knows what was committed before the call, or the database is away. */
  refresh(): Promise<void>;
  /** Tells the other gateways, and hears what they have told; null where the database is away. */
  tell(told: PoolTold): Promise<PoolHeard | null>;
  /** Called when another gateway has told something. */
  onNews(listener: () => void): void;
}

/** A provider with the fence of the last result known here. */
export interface LeaseSubject {
  readonly id: string;
  readonly fence: number;
}

/** The right to do what one gateway does at a time. */
export interface Lease {
  /** Higher than that of any lease of this name before. */
  readonly fence: number;
  /** Aborts when it could not be renewed. */
  readonly lost: AbortSignal;
  release(): void;
}

const UNKNOWN: PoolStanding = {
  database: 'away',
  problem: null,
  gateways: [],
  totals: NO_TOTALS,
};

/** This thread's side of what the gateways share; the store is another client of the same thread. */
export function createPoolClient(worker: Worker, gateway: GatewayInPool, log: Log): Pool {
  const changeListeners: ((changes: PoolChanges) => void)[] = [];
  const standingListeners: ((standing: PoolStanding) => void)[] = [];
  const newsListeners: (() => void)[] = [];
  const asked = createAsked(worker);
  const held = createHeldLeases((name) => asked.tell({ kind: 'release', name }));
  let standing = UNKNOWN;

  worker.on('message', (reply: PoolReply) => {
    switch (reply.kind) {
      case 'changes':
        for (const listener of changeListeners) listener(reply.changes);
        return taken(reply.kind);
      case 'settled':
        return taken(reply.kind);
      case 'standing':
        return note(reply.standing);
      case 'leased':
        return asked.answer(reply.id, reply.fence);
      case 'lost':
        return held.lose(reply.name);
      case 'refreshed':
        return asked.answer(reply.id, null);
      case 'heard':
        return asked.answer(reply.id, reply.heard);
      case 'news':
        for (const listener of newsListeners) listener();
        return;
      case 'opening':
      case 'events':
      // Those are for the client of the store.
    }
  });
  worker.on('exit', () => held.loseAll());

  /** After whatever else this thread has to do. */
  function taken(what: PacedReply['kind']): void {
    setImmediate(() => asked.tell({ kind: 'taken', what }));
  }

  function note(now: PoolStanding): void {
    if (now.database !== standing.database) {
      if (now.database === 'away') log('error', 'pool_away', { error: now.problem });
      else log('info', 'pool_connected');
    }
    standing = now;
    for (const listener of standingListeners) listener(now);
  }

  return {
    gateway,
    standing: () => standing,
    show: (figures) => asked.tell({ kind: 'figures', figures }),
    onChanges: (listener) => void changeListeners.push(listener),
    onStanding: (listener) => void standingListeners.push(listener),
    async lease(name, subject) {
      if (standing.database === 'away') return null;
      const fence = await asked.ask<number>((id) => ({
        kind: 'lease',
        id,
        name,
        subject: subject ?? null,
      }));
      return fence === null ? null : held.add(name, fence);
    },
    async refresh() {
      if (standing.database === 'connected') await asked.ask((id) => ({ kind: 'refresh', id }));
    },
    async tell(told) {
      if (standing.database === 'away') return null;
      return asked.ask<PoolHeard>((id) => ({ kind: 'tell', id, told }));
    },
    onNews: (listener) => void newsListeners.push(listener),
  };
}

/** Questions to the thread of the database, each of which is answered, whatever becomes of it. */
function createAsked(worker: Worker) {
  const waiting = new Map<number, (answer: unknown) => void>();
  let lastId = 0;
  let isEnded = false;
  worker.on('exit', () => {
    isEnded = true;
    for (const resolve of waiting.values()) resolve(null);
    waiting.clear();
  });
  const tell = (request: PoolRequest) => {
    if (!isEnded) worker.postMessage(request, []);
  };
  return {
    tell,
    /** The answer is one to the request's kind. */
    ask<Answer>(request: (id: number) => PoolRequest): Promise<Answer | null> {
      if (isEnded) return Promise.resolve(null);
      const id = (lastId += 1);
      return new Promise((resolve) => {
        waiting.set(id, (answer) => resolve(answer as Answer | null));
        tell(request(id));
      });
    },
    answer(id: number, answer: unknown) {
      waiting.get(id)?.(answer);
      waiting.delete(id);
    },
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
