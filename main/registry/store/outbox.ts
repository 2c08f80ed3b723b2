import type { Clock } from '../../platform/clock.ts';
import type { StoreRequest, WriteRequest } from './protocol.ts';

/** Sends requests to a database thread, in order. */
export interface Outbox {
  /** Sent together with others, or at once if none was sent recently. */
  write(request: WriteRequest): void;
  /** Sent now, after all earlier writes. */
  ask(request: Exclude<StoreRequest, { readonly kind: 'writes' }>): void;
}

/** Least time between two messages of writes. Heartbeats that arrive within it share a message, and mostly a commit. */
const BATCH_MS = 50;
/** Writes per message, which is copied at once: thousands would block this thread. */
const MAX_BATCH = 100;

/**
 * Each message wakes the database thread and each answer this one, so many small ones cost more than a few large ones.
 */
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
      if (waiting.length >= MAX_BATCH) flush();
      else cancelFlush ??= clock.after(Math.max(0, lastTicks + BATCH_MS - clock.ticks()), flush);
    },
    ask(request) {
      flush();
      post(request);
    },
  };
}
