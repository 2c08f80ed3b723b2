import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../platform/clock.ts';
import { type BodyRefusal, readBody } from '../../platform/http/server.ts';
import { type GatewayError, TINY_PIECES } from './errors.ts';
import { sendErrorEarly } from './responses.ts';

/** Reads small bodies of senders that cannot be authenticated before the body is complete. */
export interface SmallBodyReader {
  /** Null if an error was sent, or the sender has disconnected. */
  read(req: IncomingMessage, res: ServerResponse): Promise<Buffer | null>;
}

/** No message of an agent or of the window is longer. */
export const MAX_SMALL_BODY_BYTES = 64 * 1024;
/** Enough for the largest body on a slow connection. */
const MAX_ARRIVAL_MS = 5000;
/** Most bodies arrive with their headers, so few are pending even with a thousand machines. */
const MAX_PENDING = 64;
/** How much of a refused body is still read, so that its sender can finish and receive the error. */
const MAX_REST_BYTES = 64 * 1024;

const LATE: GatewayError = {
  status: 408,
  code: 'request_timeout',
  message: 'The body did not arrive in time; send it right after the headers.',
};

const REFUSALS: Readonly<Record<BodyRefusal | 'late', GatewayError>> = {
  too_large: {
    status: 413,
    code: 'body_too_large',
    message: `The body is over ${MAX_SMALL_BODY_BYTES} bytes.`,
  },
  tiny_pieces: TINY_PIECES,
  too_slow: LATE,
  late: LATE,
  no_room: {
    status: 503,
    code: 'overloaded',
    message: 'Too many messages are arriving at once; try again in a moment.',
    retryAfterMs: 1000,
  },
};

/**
 * At the limit of pending bodies the oldest is refused for a new one; otherwise connections that send nothing could
 * lock out all senders.
 */
export function createSmallBodyReader(clock: Clock): SmallBodyReader {
  const pending = new Set<(refusal: 'no_room') => void>();

  function readWithLimits(req: IncomingMessage) {
    return new Promise<Buffer | BodyRefusal | 'late' | 'aborted'>((resolve) => {
      const settle = (end: Parameters<typeof resolve>[0]) => {
        cancelTimer();
        pending.delete(settle);
        resolve(end);
      };
      const cancelTimer = clock.after(MAX_ARRIVAL_MS, () => settle('late'));
      const [oldest] = pending;
      if (pending.size >= MAX_PENDING) oldest?.('no_room');
      pending.add(settle);
      void readBody(req, { maxBytes: MAX_SMALL_BODY_BYTES, clock }).then(settle);
    });
  }

  return {
    async read(req, res) {
      const end = await readWithLimits(req);
      if (typeof end !== 'string') return end;
      if (end === 'aborted') return null;
      // The rest of a body in tiny pieces is not read.
      const maxRestBytes = end === 'tiny_pieces' ? 0 : MAX_REST_BYTES;
      sendErrorEarly(req, res, REFUSALS[end], { headers: {}, clock, maxRestBytes });
      return null;
    },
  };
}
