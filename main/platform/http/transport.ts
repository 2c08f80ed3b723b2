import type { Clock } from '../clock.ts';
import { codeOf, isExhausted } from '../errors.ts';
import {
  type Exchange,
  MAX_INTERIM_HEADS,
  type ResponseHeaders,
  type ResponseListener,
  type TransportFailure,
} from './types.ts';

/**
 * What the two transports, our own and undici's, do alike: stale connections, interim heads, unasked answers and the
 * names of failures.
 */

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
export interface Distrust {
  mark(origin: string): void;
  /** Whether no connection to it may be kept now. */
  has(origin: string): boolean;
}

/** `onMarked` is called for an origin that was not marked before. */
export function createDistrust(clock: Clock, onMarked: (origin: string) => void): Distrust {
  const untilTicks = new Map<string, number>();
  function has(origin: string): boolean {
    const until = untilTicks.get(origin);
    return until !== undefined && clock.ticks() < until;
  }
  return {
    has,
    mark(origin) {
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

/** Codes for a response that is not HTTP; undici's parser error has a name, but no code. */
const MALFORMED = new Set([
  'MALFORMED',
  'HEAD_TOO_LARGE',
  'HTTPParserError',
  'UND_ERR_HEADERS_OVERFLOW',
]);
/** Codes for a connection that was made and then lost. */
const BROKEN = new Set(['CLOSED', 'UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** Classifies an error of a client or of its socket by its code. */
export function transportFailure(
  error: Error,
  seen: { readonly headSeen: boolean; readonly reused: boolean },
): TransportFailure {
  const code = codeOf(error) ?? error.name;
  const detail = describe(error, code);
  if (seen.headSeen) return { kind: 'cut', stale: false, detail };
  if (isExhausted(error)) return { kind: 'exhausted', stale: false, detail: code };
  if (MALFORMED.has(code)) return { kind: 'malformed', stale: false, detail };
  return { kind: 'unreachable', stale: BROKEN.has(code) && seen.reused, detail };
}

/** An error of our own, with a code of those above. */
export function errorOf(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** For codes that users cannot be expected to know. */
const TEXTS: Readonly<Record<string, string>> = {
  CLOSED: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  HEAD_TOO_LARGE: 'the response head is too large',
  UND_ERR_HEADERS_OVERFLOW: 'the response head is too large',
  MALFORMED: 'the response is not HTTP',
  HTTPParserError: 'the response is not HTTP',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the body does not have the length that was announced',
};

function describe(error: Error, code: string): string {
  const text = TEXTS[code];
  if (text !== undefined) return text;
  // For a name with several addresses Node reports one error that holds an error per address.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const cause = first instanceof Error ? first : error;
  const address =
    'address' in cause && typeof cause.address === 'string' ? ` ${cause.address}` : '';
  const port = 'port' in cause && typeof cause.port === 'number' ? `:${cause.port}` : '';
  const host =
    'hostname' in cause && typeof cause.hostname === 'string' ? ` ${cause.hostname}` : '';
  return `${code === 'Error' ? (codeOf(cause) ?? cause.name) : code}${host}${address}${port}`;
}
