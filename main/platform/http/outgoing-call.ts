import type { Dispatcher } from 'undici';
import { ByteBuffer } from '../byte-buffer.ts';
import type { Clock } from '../clock.ts';
import { isBroken, transportFailure } from './tls-and-socket-failures.ts';
import type { Exchange, HttpRequest, ResponseListener, TransportFailure } from './types.ts';

/** Some servers send it on a connection that was idle for too long, before they close it. */
const REQUEST_TIMEOUT_STATUS = 408;

const malformed = (detail: string): TransportFailure => ({ kind: 'malformed', detail });

/** Larger response heads count as malformed. */
export const MAX_HEAD_BYTES = 32 * 1024;

/**
 * Interim (1xx) heads before the final one: enough for a `102 Processing` every ten seconds over a quarter of
 * an hour, and a limit for an upstream that sends nothing else.
 */
const MAX_INTERIM_HEADS = 100;

/** A server that closes an idle connection does so at once; one that closes later may have worked on the request. */
const MAX_STALE_MS = 1000;

/**
 * After so much the rest waits for the next turn; what Node hands over in one piece may be up to 128 KiB. undici reads all
 * that has come, so fifty fast upstreams would block the event loop.
 */
const MAX_BYTES_AT_ONCE = 32 * 1024;

/** The connection of a call: `asks` as the request is written, `headSeen` and `answered` as its response comes. */
interface Carrier {
  send(request: HttpRequest, call: Call): void;
  asks(): void;
  headSeen(): void;
  answered(): void;
  isReused(): boolean;
  destroy(): void;
}

/** Passes on what its listener is to hear, and nothing once it is over. */
export class Call implements Exchange, Dispatcher.DispatchHandler {
  listener: ResponseListener;
  readonly #request: HttpRequest;
  readonly #clock: Clock;
  readonly #sendAgain: () => void;
  #connection: Carrier | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  isOver = false;
  /** When the request was written, in clock ticks. */
  #leftAt: number | null = null;
  #hasBegun = false;
  #hasHead = false;
  #interimHeads = 0;
  /** A kept connection has answered with 408: the request may be sent again on a new one (RFC 9110, 15.5.9). */
  #isTimedOut = false;
  /** Paused by the listener. */
  #isPaused = false;
  /** Waits for the next turn. */
  #isYielding = false;
  #bytesAtOnce = 0;

  /** `sendAgain` starts it on a new connection. */
  constructor(
    request: HttpRequest,
    listener: ResponseListener,
    clock: Clock,
    sendAgain: () => void,
  ) {
    request.signal?.addEventListener('abort', this.onSignal);
    this.#request = request;
    this.listener = listener;
    this.#clock = clock;
    this.#sendAgain = sendAgain;
  }

  start(connection: Carrier): void {
    this.#connection = connection;
    connection.send(this.#request, this);
  }

  pause(): void {
    this.#isPaused = true;
    if (!this.isOver) this.#controller?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    // It does not continue at once: undici would parse in the middle of what another connection has brought.
    process.nextTick(this.#goOn);
  }

  hasLeft(): boolean {
    return this.#leftAt !== null;
  }

  abort(): void {
    if (this.isOver) return;
    this.#finish();
    this.#connection?.destroy();
  }

  #finish(): void {
    this.isOver = true;
    this.#request.signal?.removeEventListener('abort', this.onSignal);
  }

  readonly onSignal = (): void =>
    this.fail({ kind: 'ended', detail: 'the owner of its machine has ended it' });

  fail(failure: TransportFailure): void {
    if (this.isOver) return;
    this.abort();
    this.listener.onFailure(failure);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#leftAt = this.#clock.ticks();
    this.#connection?.asks();
  }

  /** False once it is there, or is over its limit: undici bounds the fields of a head, but not its first line. */
  awaitsHead(parsedBytes: number): boolean {
    if (this.#hasHead) return false;
    if (parsedBytes <= MAX_HEAD_BYTES * (1 + this.#interimHeads)) return true;
    this.fail(malformed('the response head is too large'));
    return false;
  }

  onResponseStarted(): void {
    this.#hasBegun = true;
  }

  /** Takes interim (1xx) heads, too. */
  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Parameters<ResponseListener['onHead']>[1],
  ): void {
    if (this.isOver || this.#isTimedOut) return;
    if (status < 200) {
      this.#interimHeads += 1;
      if (this.#interimHeads > MAX_INTERIM_HEADS)
        this.fail(malformed('too many interim heads came before the response'));
    } else if (status === REQUEST_TIMEOUT_STATUS && this.#connection?.isReused() === true) {
      this.#isTimedOut = true;
      this.#connection.destroy();
    } else {
      this.#hasHead = true;
      this.#connection?.headSeen();
      this.listener.onHead(status, headers);
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.isOver || this.#isTimedOut) return;
    this.listener.onData(piece);
    this.#bytesAtOnce += piece.length;
    if (this.#bytesAtOnce < MAX_BYTES_AT_ONCE || this.#isYielding) return;
    this.#isYielding = true;
    controller.pause();
    setImmediate(this.#onNextTurn);
  }

  onResponseEnd(): void {
    if (this.isOver) return;
    if (this.#isTimedOut) return this.#retry();
    this.#finish();
    this.#connection?.answered();
    this.listener.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.isOver) return;
    if (this.#isTimedOut || this.#isStale(error)) this.#retry();
    else this.fail(transportFailure(error, this.#hasHead));
  }

  /** Whether the other side had just closed a kept connection: it broke before any byte of the response. */
  #isStale(error: Error): boolean {
    const isSoon = this.#leftAt !== null && this.#clock.ticks() - this.#leftAt <= MAX_STALE_MS;
    return this.#connection?.isReused() === true && !this.#hasBegun && isSoon && isBroken(error);
  }

  /** A new connection is not a kept one, so this happens once. */
  #retry(): void {
    this.#connection?.destroy();
    this.#leftAt = null;
    this.#hasBegun = false;
    this.#isTimedOut = false;
    this.#interimHeads = 0;
    this.#sendAgain();
  }

  readonly #onNextTurn = (): void => {
    this.#isYielding = false;
    this.#bytesAtOnce = 0;
    this.#goOn();
  };

  readonly #goOn = (): void => {
    if (!this.isOver && !this.#isPaused && !this.#isYielding) this.#controller?.resume();
  };
}

/**
 * Buffers the events of an exchange until its next listener is known; the returned function installs that
 * listener and replays them. Microtasks run between the two, and an end or a failure may arrive among them.
 */
export function bufferEvents(exchange: Exchange): (next: ResponseListener) => void {
  const events: ((listener: ResponseListener) => void)[] = [];
  const pieces = new ByteBuffer();
  exchange.listener = {
    onHead: (...head) => void events.push((listener) => listener.onHead(...head)),
    // Joined, because a list of small pieces would take a hundred times their memory.
    onData(piece) {
      if (pieces.length === 0) events.push((listener) => listener.onData(pieces.take()));
      pieces.add(piece);
    },
    onEnd: () => void events.push((listener) => listener.onEnd()),
    onFailure: (failure) => void events.push((listener) => listener.onFailure(failure)),
  };
  return (next) => {
    exchange.listener = next;
    // The listener is looked up for each event: one may replace it for the rest. For an answer that is over it may be
    // this buffer, whose list must not grow while it is played.
    for (const event of events.splice(0)) event(exchange.listener);
  };
}

/** How long the end of a response may follow its last event, and after how many bytes: an endless error never ends. */
const DRAIN_MS = 1000;
const MAX_DRAINED_BYTES = 65_536;

/**
 * Waits for the end of a response whose content is complete, so that its connection can be used again; closes
 * the connection of one that does not end in time.
 */
export function drain(exchange: Exchange, clock: Clock): void {
  const cancel = clock.after(DRAIN_MS, () => exchange.abort());
  let drainedBytes = 0;
  exchange.listener = {
    onHead() {
      // A response has one head, which came before its content.
    },
    onData({ length }) {
      drainedBytes += length;
      if (drainedBytes <= MAX_DRAINED_BYTES) return;
      cancel();
      exchange.abort();
    },
    onEnd: cancel,
    onFailure: cancel,
  };
}
