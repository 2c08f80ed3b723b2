import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { type Clock, systemClock } from '../platform/clock.ts';
import type { SettledWrite } from '../registry/store/open-store.ts';
import { exchange } from './circuit-exchange.ts';
import { createLeases, keepLeases, type Leases } from './leases.ts';
import { syncMembers } from './members.ts';
import {
  ANSWERS_AT_ONCE,
  type GatewayFigures,
  NO_FIGURES,
  NO_TOTALS,
  type PacedReply,
  piecesOf,
  POOL_TIMES,
  type PoolChanges,
  type PoolReply,
  type PoolRequest,
  type PoolStatus,
  type PoolWorkerData,
  type SharedPrefix,
} from './protocol.ts';
import { createOpening, createPoolReader, type PoolReader, readEvents } from './change-reader.ts';
import type { Session } from './connection.ts';
import { createSessionKeeper, type SessionState } from './session.ts';
import { createWriteQueue, type WriteQueue } from './commit.ts';

type Delivery = ReturnType<typeof createDelivery>;

/**
 * Sends messages to the gateway's thread, one at a time. A port delivers all waiting messages within one turn of the event
 * loop, however small they are. So each message is posted only after the last one was processed.
 */
function createDelivery(post: (message: PacedReply) => void) {
  const waiting: { readonly message: PacedReply; readonly done: () => void }[] = [];
  let onItsWay: (() => void) | null = null;
  let last: Promise<void> = Promise.resolve();

  function next(): void {
    const first = waiting.shift();
    onItsWay = first?.done ?? null;
    if (first !== undefined) post(first.message);
  }

  return {
    /** Resolves once that thread has processed it. */
    send(message: PacedReply): Promise<void> {
      last = new Promise((done) => waiting.push({ message, done }));
      if (onItsWay === null) next();
      return last;
    },
    /** That thread has processed the last message and everything else that was waiting there. */
    taken(): void {
      const done = onItsWay;
      next();
      done?.();
    },
    /** Resolves once no message is waiting. */
    idle: () => last,
  };
}

/* The thread of a shared database, so that neither waiting for answers nor parsing them can block the gateway. */

/** How often this gateway reads the database, whatever was announced. */
const CHECK_MS = 2000;

function serve(port: MessagePort, data: PoolWorkerData, clock: Clock): void {
  const say = (reply: PoolReply) => port.postMessage(reply);
  const paced = pacedBy(say);
  let problem = `The pool's database ${data.shown} has not answered yet.`;
  let members: Pick<PoolStatus, 'gateways' | 'totals'> = { gateways: [], totals: NO_TOTALS };
  const shown: Parts['shown'] = { figures: NO_FIGURES };
  let cancelCheck: (() => void) | null = null;

  const edges = {
    data,
    clock,
    session: () => keeper.current(),
    onFailure: (error: unknown) => keeper.giveUp(error),
    problem: () => problem,
  };
  const { session, onFailure } = edges;
  const { times = POOL_TIMES } = data;
  const opening = createOpening({
    clock,
    times,
    say: (opened) => say({ kind: 'opening', opening: opened }),
    problem: () => problem,
  });
  const leases = createLeases(clock, data.gateway.run, times);
  const keeping = keepLeases(leases, {
    ...edges,
    onLost: (name) => say({ kind: 'lost', name }),
  });
  const queue = createWriteQueue({
    ...edges,
    onSettled: (writes) => answerIn(paced.settled, writes),
  });
  const reader = createPoolReader({
    ...edges,
    async onChanges(changes) {
      if (opening.isOver()) await tellIn(paced, changes);
      else opening.add(changes);
    },
  });
  const onCommit = () => reader.wake();
  const onNews = () => say({ kind: 'news' });
  const onPrefixes = (prefixes: readonly SharedPrefix[]) => say({ kind: 'prefixes', prefixes });
  const keeper = createSessionKeeper({ data, clock, onState, onCommit, onNews, onPrefixes });

  function onState(state: SessionState): void {
    if (state.kind === 'connected') return void begin(state.session).catch(onFailure);
    problem = state.message;
    queue.refuse(problem);
    if (state.kind === 'unusable' && !opening.isOver()) opening.refuse(state);
    else sayStatus('away');
    if (state.kind === 'unusable') end();
  }

  async function begin(now: Session): Promise<void> {
    const expired = 'DELETE FROM inglenook.enrollments WHERE expires_at <= $1';
    await now.reader.query(expired, [clock.now()]);
    keeping.begin(now);
    await reader.begin(now);
    // First, so that a starting registry can ask for leases at once.
    sayStatus('connected');
    opening.complete(null);
    await check(now);
  }

  function sayStatus(database: 'connected' | 'away'): void {
    const why = database === 'away' ? problem : null;
    say({ kind: 'status', status: { database, problem: why, ...members } });
  }

  /** Reads what this gateway may have missed, and exchanges figures with the others. */
  async function check(now: Session): Promise<void> {
    if (session() !== now) return;
    await reader.refresh();
    if (session() !== now) return;
    const figures = { ...shown.figures, revision: reader.revision() };
    members = await syncMembers(now.reader, data.gateway, figures);
    sayStatus('connected');
    cancelCheck = clock.after(CHECK_MS, () => void check(now).catch(onFailure));
  }

  function end(): void {
    opening.cancel();
    cancelCheck?.();
    keeping.stop();
    keeper.stop();
    port.close();
  }

  const parts = { ...edges, run: data.gateway.run, shown, queue, reader, leases, paced, say };
  port.on('message', (request: PoolRequest) => void answer(request, parts, end));
}

type Paced = Readonly<Record<PacedReply['kind'], Delivery>>;

const pacedBy = (say: (reply: PacedReply) => void): Paced => ({
  changes: createDelivery(say),
  settled: createDelivery(say),
});

function answerIn(delivery: Delivery, writes: readonly SettledWrite[]): void {
  for (const piece of piecesOf(writes, ANSWERS_AT_ONCE))
    void delivery.send({ kind: 'settled', writes: piece });
}

/**
 * The results of this gateway's own writes are delivered before what was read: its memory then knows who has joined,
 * and has undone what could not be written.
 */
async function tellIn({ settled, changes: delivery }: Paced, changes: PoolChanges): Promise<void> {
  await settled.idle();
  await delivery.send({ kind: 'changes', changes });
}

interface Parts {
  readonly shown: { figures: GatewayFigures };
  readonly run: string;
  readonly session: () => Session | null;
  readonly onFailure: (error: unknown) => void;
  readonly queue: WriteQueue;
  readonly reader: PoolReader;
  readonly leases: Leases;
  readonly paced: Paced;
  readonly say: (reply: PoolReply) => void;
  readonly problem: () => string;
}

/** Never rejects: a failure gives up the session, and the request is still answered. */
async function answer(request: PoolRequest, parts: Parts, end: () => void): Promise<void> {
  const { session, queue, reader, leases, say } = parts;
  switch (request.kind) {
    case 'writes':
      return queue.add(request.writes);
    case 'taken':
      return parts.paced[request.what].taken();
    case 'events': {
      // A history must show what was written before it was requested.
      await queue.drained();
      const { id, providerId, limit } = request;
      const read = ({ writer }: Session) => readEvents(writer, providerId, limit);
      const events = await tried(parts, read, null);
      const problem = events === null ? parts.problem() : null;
      return say({ kind: 'events', id, events: events ?? [], problem });
    }
    case 'lease': {
      const { id, name, subject } = request;
      const take = (now: Session) => leases.take(now.reader, name, subject);
      return say({ kind: 'answered', id, answer: await tried(parts, take, null) });
    }
    case 'release':
      return leases.release(session()?.reader ?? null, request.name).catch(parts.onFailure);
    case 'figures':
      parts.shown.figures = request.figures;
      return;
    case 'refresh':
      await reader.refresh();
      return say({ kind: 'answered', id: request.id, answer: null });
    case 'exchange': {
      const { id, update } = request;
      const send = ({ reader: connection }: Session) => exchange(connection, update, parts.run);
      return say({ kind: 'answered', id, answer: await tried(parts, send, null) });
    }
    case 'close':
      await queue.drained();
      await tried(parts, (now) => leases.releaseAll(now.reader), undefined);
      await parts.paced.settled.idle();
      return end();
  }
}

async function tried<T>(
  { session, onFailure }: Parts,
  work: (session: Session) => Promise<T>,
  otherwise: T,
): Promise<T> {
  const now = session();
  if (now === null) return otherwise;
  try {
    return await work(now);
  } catch (error) {
    onFailure(error);
    return otherwise;
  }
}

if (parentPort !== null) serve(parentPort, workerData as PoolWorkerData, systemClock);
