import type { Clock } from '../../platform/clock.ts';
import type { StoreRequest, WriteRequest } from './protocol.ts';

/** Sends requests to a database thread in their order. */
export interface Outbox {
  /** Goes with others, and at once where none went just before. */
  write(request: WriteRequest): void;
  /** Goes now, after all writes before it. */
  ask(request: Exclude<StoreRequest, { readonly kind: 'writes' }>): void;
}

/** Between two messages of writes. Heartbeats that arrive in this time share a message, and mostly a commit. */
const GATHER_MS = 50;
/** Writes in a message: it is copied in one go, and thousands would hold this thread up. */
const MOST_TOGETHER = 100;

/** Each message wakes the database thread, and each answer this one: many small ones cost more than few large ones. */
export function createOutbox(post: (request: StoreRequest) => void, clock: Clock): Outbox {
  let waiting: WriteRequest[] = [];
  let cancelFlush: (() => void) | null = null;
  let lastTicks = -Infinity;

  function flush(): void {
    cancelFlush?.();
    cancelFlush = null;
    const writes = waiting;
    waiting = [];
    if (writes.length === 0) return;
    lastTicks = clock.ticks();
    post({ kind: 'writes', writes });
  }

  return {
    write(request) {
      waiting.push(request);
      if (waiting.length >= MOST_TOGETHER) flush();
      else cancelFlush ??= clock.after(Math.max(0, lastTicks + GATHER_MS - clock.ticks()), flush);
    },
    ask(request) {
      flush();
      post(request);
    },
  };
}
