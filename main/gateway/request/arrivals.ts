import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../platform/clock.ts';
import { readBody, type BodyRead } from './body.ts';

/** The body of a message whose sender is unknown before its last byte, or why there is none. */
export type Arrival = BodyRead | { readonly kind: 'late' };

/** Reads messages that anybody may send. */
export interface Arrivals {
  read(req: IncomingMessage): Promise<Arrival>;
}

/** Nothing that an agent says needs more. */
export const MAX_ARRIVAL_BYTES = 64 * 1024;
/** Network packets and every common encoder make fewer of that. */
const MAX_PIECES = 1000;
/** On the slowest line a body of the largest size is here by then. */
const MAX_ARRIVAL_MS = 5000;
/** Most bodies come with their head, so those that are waited for are few even among a thousand machines. */
const MAX_WAITING = 64;

/**
 * Makes it. Where many are on their way, the one that is waited for longest gives way to a new one: else
 * whoever opens connections and sends nothing would keep everybody out.
 */
export function createArrivals(clock: Clock): Arrivals {
  const waiting = new Set<(end: Arrival) => void>();
  return {
    read: (req) =>
      new Promise((resolve) => {
        const settle = (end: Arrival) => {
          cancelTimer();
          waiting.delete(settle);
          resolve(end);
        };
        const cancelTimer = clock.after(MAX_ARRIVAL_MS, () => settle({ kind: 'late' }));
        const [oldest] = waiting;
        if (waiting.size >= MAX_WAITING) oldest?.({ kind: 'no_room' });
        waiting.add(settle);
        const limits = { maxBytes: MAX_ARRIVAL_BYTES, maxPieces: MAX_PIECES };
        void readBody(req, limits).then(settle);
      }),
  };
}
