import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  workerData,
} from 'node:worker_threads';
import { createWriter, openDatabase, type Writer } from './database.ts';
import { explain, failureOf } from './errors.ts';
import type { EventsRequest, StoreReply, StoreRequest, StoreWorkerData } from './open-store.ts';

/* The database thread, so that no query and no slow disk can block the gateway. */

/** Messages per transaction, as acknowledgements wait for all of it. */
const MAX_BATCH = 100;

function serve(port: MessagePort, { path, nowMs }: StoreWorkerData): void {
  const say = (reply: StoreReply) => port.postMessage(reply);
  const opened = openDatabase(path, nowMs);
  if (opened.kind === 'unusable') {
    say({ kind: 'opening', opening: opened });
    return;
  }
  const { db, loaded, warning } = opened;
  const writer = createWriter(db, path);
  say({ kind: 'opening', opening: { kind: 'open', ...loaded, warning } });
  port.on('message', (first: StoreRequest) => {
    const requests = [first, ...waiting(port)];
    const writes = requests.flatMap((request) => (request.kind === 'write' ? [request] : []));
    if (writes.length > 0) say({ kind: 'settled', writes: writer.commit(writes) });
    for (const request of requests)
      if (request.kind === 'events') say(history(writer, request, path));
    if (requests.some(({ kind }) => kind === 'close')) {
      db.close();
      port.close();
    }
  });
}

/** Messages that have arrived in the meantime go into the same transaction. */
function* waiting(port: MessagePort): Generator<StoreRequest> {
  for (let taken = 1; taken < MAX_BATCH; taken += 1) {
    const next = receiveMessageOnPort(port);
    if (next === undefined) return;
    yield next.message as StoreRequest;
  }
}

function history(
  writer: Writer,
  { id, providerId, limit }: EventsRequest,
  path: string,
): StoreReply {
  try {
    return { kind: 'events', id, events: writer.events(providerId, limit), problem: null };
  } catch (error) {
    return { kind: 'events', id, events: [], problem: explain(failureOf(error), path) };
  }
}

if (parentPort !== null) serve(parentPort, workerData as StoreWorkerData);
