import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../platform/clock.ts';
import { type BodyRead, readBody } from '../../platform/http/server.ts';
import type { GatewayError } from './errors.ts';
import { sendErrorEarly } from './responses.ts';

/** Reads small bodies that anybody may send: who it was is known after the last byte, or never. */
export interface SmallBodyReader {
  /** Null when the sender was told why its body is not taken, or has gone. */
  read(req: IncomingMessage, res: ServerResponse): Promise<Buffer | null>;
}

type Arrival = BodyRead | { readonly kind: 'late' };

/** Nothing that an agent or a window says needs more. */
export const MAX_SMALL_BODY_BYTES = 64 * 1024;
/** Network packets and every common encoder make fewer of that. */
const MAX_PIECES = 1000;
/** On the slowest line a body of the largest size is here by then. */
const MAX_ARRIVAL_MS = 5000;
/** Most bodies come with their head, so those that are waited for are few even among a thousand machines. */
const MAX_WAITING = 64;
/** Of a body that is not taken no more than this is read, so that its sender may finish and hear why. */
const MAX_REST_BYTES = 64 * 1024;

const NOT_TAKEN: Readonly<Record<Exclude<Arrival['kind'], 'body' | 'aborted'>, GatewayError>> = {
  too_large: {
    status: 413,
    code: 'body_too_large',
    message: `The body is over ${MAX_SMALL_BODY_BYTES} bytes.`,
  },
  too_many_pieces: {
    status: 400,
    code: 'invalid_request',
    message: 'The body came in pieces of a few bytes each; send it in larger ones.',
  },
  late: {
    status: 408,
    code: 'request_timeout',
    message: 'The body did not come in time; send it together with its head.',
  },
  no_room: {
    status: 503,
    code: 'overloaded',
    message: 'More messages are coming in than are waited for at once; try again in a moment.',
    retryAfterMs: 1000,
  },
};

/**
 * Makes it. Where many are on their way, the one that is waited for longest gives way to a new one: else
 * whoever opens connections and sends nothing would keep everybody out.
 */
export function createSmallBodyReader(clock: Clock): SmallBodyReader {
  const waiting = new Set<(end: Arrival) => void>();

  function arrival(req: IncomingMessage): Promise<Arrival> {
    return new Promise((resolve) => {
      const settle = (end: Arrival) => {
        cancelTimer();
        waiting.delete(settle);
        resolve(end);
      };
      const cancelTimer = clock.after(MAX_ARRIVAL_MS, () => settle({ kind: 'late' }));
      const [oldest] = waiting;
      if (waiting.size >= MAX_WAITING) oldest?.({ kind: 'no_room' });
      waiting.add(settle);
      const limits = { maxBytes: MAX_SMALL_BODY_BYTES, maxPieces: MAX_PIECES };
      void readBody(req, limits).then(settle);
    });
  }

  return {
    async read(req, res) {
      const end = await arrival(req);
      if (end.kind === 'body') return end.bytes;
      if (end.kind === 'aborted') return null;
      // Every further piece of a few bytes takes as long as a packet.
      const maxRestBytes = end.kind === 'too_many_pieces' ? 0 : MAX_REST_BYTES;
      sendErrorEarly(req, res, NOT_TAKEN[end.kind], { headers: {}, clock, maxRestBytes });
      return null;
    },
  };
}
