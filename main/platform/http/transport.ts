import type { Clock } from '../clock.ts';
import { transportFailure } from './tls-and-socket-failures.ts';
import {
  type Exchange,
  MAX_INTERIM_HEADS,
  type ResponseHeaders,
  type ResponseListener,
  type TransportFailure,
} from './types.ts';

/** What the two transports, our own and undici's, do alike: stale connections, interim heads and unasked answers. */

/** Sent by some servers on a connection that was idle for too long, before they close it. */
const REQUEST_TIMEOUT_STATUS = 408;
/** Whether bytes that nobody asked for are only that notice. */
export const saysTimedOut = (bytes: Buffer): boolean =>
  /^HTTP\/1\.[01] 408 /.test(bytes.toString('latin1', 0, 16));
/** A 408 on a kept connection: the request may be sent again on a new one (RFC 9110, 15.5.9). */
const TIMED_OUT: TransportFailure = {
  kind: 'unreachable',
  stale: true,
  detail: 'the connection had timed out (408)',
};

const TOO_MANY_HEADS: TransportFailure = {
  kind: 'malformed',
  stale: false,
  detail: 'too many interim heads came before the response',
};

/**
 * An exchange of a transport, which tells it what comes from the connection. It passes on what its listener is to hear,
 * and nothing once it is over.
 */
export abstract class TransportExchange implements Exchange {
  listener: ResponseListener;
  #isOver = false;
  #hasLeft = false;
  #hasHead = false;
  #interimHeads = 0;

  constructor(listener: ResponseListener) {
    this.listener = listener;
  }

  abstract pause(): void;
  abstract resume(): void;
  /** Closes the connection. */
  protected abstract close(): void;
  /** Whether the connection has served another request before. */
  protected abstract isReused(): boolean;
  /** Whether a byte of the response has come: then the other side has seen the request. */
  protected abstract hasBegun(): boolean;

  isOver(): boolean {
    return this.#isOver;
  }

  /** The request is being written. */
  leave(): void {
    this.#hasLeft = true;
  }

  hasLeft(): boolean {
    return this.#hasLeft;
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.close();
  }

  /** Takes interim (1xx) heads, too. */
  onHead(status: number, headers: ResponseHeaders): void {
    if (this.#isOver) return;
    if (status < 200) {
      this.#interimHeads += 1;
      if (this.#interimHeads > MAX_INTERIM_HEADS) this.#breakOff(TOO_MANY_HEADS);
    } else if (status === REQUEST_TIMEOUT_STATUS && this.isReused()) this.#breakOff(TIMED_OUT);
    else {
      this.#hasHead = true;
      this.listener.onHead(status, headers);
    }
  }

  onData(piece: Buffer): void {
    if (!this.#isOver) this.listener.onData(piece);
  }

  onEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.listener.onEnd();
  }

  /** The connection is lost. */
  onError(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const reused = this.isReused() && !this.hasBegun();
    this.listener.onFailure(transportFailure(error, { headSeen: this.#hasHead, reused }));
  }

  #breakOff(failure: TransportFailure): void {
    this.abort();
    this.listener.onFailure(failure);
  }
}

/** Longer than what such a server still has on its way. */
const DISTRUST_MS = 600_000;
/** Origins come from settings and from machines. */
const MAX_ORIGINS = 1000;

/** Origins that have sent bytes nobody asked for: on a kept connection such bytes would answer the next request. */
export type Distrust = ReturnType<typeof createDistrust>;

/** `onMarked` is called for an origin that was not marked before. */
export function createDistrust(clock: Clock, onMarked: (origin: string) => void) {
  const untilTicks = new Map<string, number>();
  function has(origin: string): boolean {
    const until = untilTicks.get(origin);
    return until !== undefined && clock.ticks() < until;
  }
  return {
    /** Whether no connection to it may be kept now. */
    has,
    mark(origin: string) {
      const isNew = !has(origin);
      // The map is in the order in which they were marked last.
      untilTicks.delete(origin);
      untilTicks.set(origin, clock.ticks() + DISTRUST_MS);
      const [oldest] = untilTicks.keys();
      if (untilTicks.size > MAX_ORIGINS && oldest !== undefined) untilTicks.delete(oldest);
      if (isNew) onMarked(origin);
    },
  };
}
