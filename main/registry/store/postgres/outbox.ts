import type { Worker } from 'node:worker_threads';
import { systemClock } from '../../../platform/clock.ts';
import type { StoreThread } from '../client.ts';
import type { WriteRequest } from '../protocol.ts';
import type { PoolRequest } from './protocol.ts';

/** Heartbeats that arrive within this time share a message, and mostly a commit. */
const GATHER_MS = 20;

/** The thread of the database for the store's client. Each message wakes it, so writes are gathered before. */
export function createOutbox(worker: Worker, clock = systemClock): StoreThread {
  let waiting: WriteRequest[] = [];

  const post = (request: PoolRequest) => worker.postMessage(request, []);

  function flush(): void {
    const writes = waiting;
    waiting = [];
    if (writes.length > 0) post({ kind: 'writes', writes });
  }

  return {
    on: worker.on.bind(worker),
    postMessage(request) {
      if (request.kind === 'write') {
        if (waiting.length === 0) clock.after(GATHER_MS, flush);
        waiting.push(request);
        return;
      }
      // What is asked for after a write is to see it.
      flush();
      post(request);
    },
  };
}
