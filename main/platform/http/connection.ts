import type { Socket } from 'node:net';
import { buildConnector, Client, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { Clock } from '../clock.ts';
import { codeOf } from '../errors.ts';
import type { Distrust } from './distrust.ts';
import { trustSystemCertificates } from './system-certificates.ts';
import { isUnaskedAnswer, transportFailure } from './tls-and-socket-failures.ts';
import {
  type Exchange,
  type HttpRequest,
  KEEP_ALIVE_MS,
  MAX_HEAD_BYTES,
  MAX_INTERIM_HEADS,
  type ResponseListener,
  type TransportFailure,
} from './types.ts';

/** For `http:` and `https:` origins; empty for none. Which of them are reached directly says NO_PROXY. */
export interface Proxies {
  readonly httpProxy: string;
  readonly httpsProxy: string;
}

/** An origin and the connections to it. */
export interface Origin {
  readonly url: string;
  /** Null for one that is reached directly. */
  readonly proxies: Proxies | null;
  /** Most recently used last. */
  readonly idle: Connection[];
  /** Idle and in use. */
  readonly open: Set<Connection>;
  /** Says whether no connection may be kept. */
  readonly distrust: Distrust;
  /** Of the last TLS connection: the next one takes half the handshake. */
  session: Buffer | undefined;
}

const LIMITS = {
  allowH2: false,
  maxHeaderSize: MAX_HEAD_BYTES,
  keepAliveTimeout: KEEP_ALIVE_MS,
  keepAliveMaxTimeout: KEEP_ALIVE_MS,
  /** A request written while the other side closes is lost, so the announced time is not used in full. */
  keepAliveTimeoutThreshold: 1000,
  // Callers have deadlines of their own.
  headersTimeout: 0,
  bodyTimeout: 0,
} as const;

/** For a connection attempt: a machine that is switched off does not even refuse it. */
const CONNECT_TIMEOUT_MS = 10_000;

const PROXY_LIMITS = { allowH2: false, connectTimeout: CONNECT_TIMEOUT_MS };

/** A client of undici that has one connection, for one request at a time. */
export class Connection {
  readonly #origin: Origin;
  readonly #dispatcher: Dispatcher;
  #socket: Socket | null = null;
  #call: Call | null = null;
  /** A request was written whose response is not complete. */
  #isAsked = false;
  #isReused = false;
  /** From the socket before the request, and of its response by undici. */
  #readBefore = 0;
  #parsedBytes = 0;

  constructor(origin: Origin) {
    this.#origin = origin;
    // With the way through a proxy, where undici has made one.
    const createClient = (url: string | URL, { connect }: Client.Options = {}) => {
      const connector = typeof connect === 'function' ? connect : this.#connect;
      return new Client(url, { ...LIMITS, connect: this.#watching(connector) });
    };
    this.#dispatcher =
      origin.proxies === null
        ? createClient(origin.url)
        : new EnvHttpProxyAgent({ ...origin.proxies, ...PROXY_LIMITS, factory: createClient });
    origin.open.add(this);
  }

  /** The connection must be idle or new. */
  send({ method, path, headers, body }: HttpRequest, call: Call): void {
    this.#call = call;
    const request = { origin: this.#origin.url, method, path, body, headers: [...headers] };
    this.#dispatcher.dispatch(request, call);
  }

  /** The request is being written. */
  asks(): void {
    this.#isAsked = true;
    this.#readBefore = this.#socket?.bytesRead ?? 0;
    this.#parsedBytes = 0;
  }

  isReused(): boolean {
    return this.#isReused;
  }

  /** The response is complete; keeps the connection if it can be reused. */
  answered(): void {
    this.#call = null;
    this.#isAsked = false;
    this.#isReused = true;
    // With a request that is not written out yet, the rest of it would run into the next one.
    if (this.#socket === null || this.#socket.writableLength > 0) this.destroy();
    // In the next turn: bytes right after a response have come by then and close the connection.
    else setImmediate(this.#keep);
  }

  destroy(): void {
    this.#leave();
    this.#socket?.destroy();
    void this.#dispatcher.destroy();
  }

  readonly #keep = (): void => {
    const { idle, distrust, url } = this.#origin;
    if (this.#socket?.destroyed === false && !distrust.has(url)) idle.push(this);
    else this.destroy();
  };

  #leave(): void {
    const { idle, open } = this.#origin;
    const at = idle.indexOf(this);
    if (at !== -1) idle.splice(at, 1);
    open.delete(this);
  }

  /** A server that does not take up the session that it is offered may refuse the connection. */
  readonly #connect: buildConnector.connector = (options, callback) => {
    const { session } = this.#origin;
    const isTls = options.protocol === 'https:';
    if (isTls) trustSystemCertificates();
    const connect = buildConnector({ session, allowH2: false, timeout: CONNECT_TIMEOUT_MS });
    const socket: unknown = connect(options, (...[error, connected]) => {
      if (error === null) callback(null, connected);
      else if (session === undefined || !isRefusedHello(error)) callback(error, null);
      else {
        this.#origin.session = undefined;
        this.#connect(options, callback);
      }
    });
    this.#socket = socket as Socket;
    this.#socket.on('session', (next: Buffer) => void (this.#origin.session = next));
  };

  /** Bytes before the request was written, or after its response: they would be taken for the answer to the next one. */
  #watching(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) => {
      connect(options, (...[error, socket]) => {
        if (error !== null) {
          callback(error, null);
          return;
        }
        this.#socket = socket;
        this.#isReused = false;
        // Before the listener of undici, which does not show such bytes.
        socket.on('readable', () => {
          if (this.#isAsked) this.#onBytes(socket);
          else this.#onUnasked(socket);
        });
        socket.on('error', (cause) => {
          if (!this.#isAsked && isUnaskedAnswer(cause)) this.#distrust();
        });
        // A request that waits to be written gets a new connection from undici.
        socket.on('close', () => this.#call === null && this.destroy());
        callback(null, socket);
      });
    };
  }

  #onBytes(socket: Socket): void {
    if (this.#call?.awaitsHead(this.#parsedBytes) !== true) return;
    this.#parsedBytes = socket.bytesRead - this.#readBefore;
  }

  #onUnasked(socket: Socket): void {
    const bytes = socket.read() as Buffer | null;
    if (bytes === null) return;
    if (!saysTimedOut(bytes)) this.#distrust();
    socket.destroy();
  }

  #distrust(): void {
    const { distrust, url, open } = this.#origin;
    distrust.mark(url);
    // What is on its way may come on another one.
    for (const connection of open) if (!connection.#isAsked) connection.#socket?.destroy();
  }
}

const isRefusedHello = (error: Error): boolean => {
  const code = codeOf(error) ?? '';
  return code.startsWith('ERR_SSL_') || code === 'ECONNRESET';
};

/** Sent by some servers on a connection that was idle for too long, before they close it. */
const REQUEST_TIMEOUT_STATUS = 408;
/** Whether bytes that nobody asked for are only that notice. */
const saysTimedOut = (bytes: Buffer): boolean =>
  /^HTTP\/1\.[01] 408 /.test(bytes.toString('latin1', 0, 16));
/** A 408 on a kept connection: the request may be sent again on a new one (RFC 9110, 15.5.9). */
const TIMED_OUT: TransportFailure = {
  kind: 'unreachable',
  stale: true,
  detail: 'the connection had timed out (408)',
};

const HEAD_TOO_LARGE: TransportFailure = {
  kind: 'malformed',
  stale: false,
  detail: 'the response head is too large',
};

const TOO_MANY_HEADS: TransportFailure = {
  kind: 'malformed',
  stale: false,
  detail: 'too many interim heads came before the response',
};

/** A server that closes an idle connection does so at once; one that closes later may have worked on the request. */
const MAX_STALE_MS = 1000;

/**
 * After so much the rest waits for the next turn; what Node hands over in one piece may be up to 128 KiB. undici reads all
 * that has come, so fifty fast upstreams would block the event loop.
 */
const MAX_BYTES_AT_ONCE = 32 * 1024;

/** Passes on what its listener is to hear, and nothing once it is over. */
export class Call implements Exchange, Dispatcher.DispatchHandler {
  listener: ResponseListener;
  readonly #clock: Clock;
  #connection: Connection | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #isOver = false;
  /** When the request was written, in clock ticks. */
  #leftAt: number | null = null;
  #hasBegun = false;
  #hasHead = false;
  #interimHeads = 0;
  /** Paused by the listener. */
  #isPaused = false;
  /** Waits for the next turn. */
  #isYielding = false;
  #bytesAtOnce = 0;

  constructor(listener: ResponseListener, clock: Clock) {
    this.listener = listener;
    this.#clock = clock;
  }

  isOver(): boolean {
    return this.#isOver;
  }

  start(connection: Connection, request: HttpRequest): void {
    this.#connection = connection;
    connection.send(request, this);
  }

  pause(): void {
    this.#isPaused = true;
    if (!this.#isOver) this.#controller?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    // Not at once: undici would parse in the middle of what another connection has brought.
    process.nextTick(this.#goOn);
  }

  hasLeft(): boolean {
    return this.#leftAt !== null;
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#connection?.destroy();
  }

  fail(failure: TransportFailure): void {
    if (this.#isOver) return;
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
    this.fail(HEAD_TOO_LARGE);
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
    if (this.#isOver) return;
    if (status < 200) {
      this.#interimHeads += 1;
      if (this.#interimHeads > MAX_INTERIM_HEADS) this.fail(TOO_MANY_HEADS);
    } else if (status === REQUEST_TIMEOUT_STATUS && this.#connection?.isReused() === true)
      this.fail(TIMED_OUT);
    else {
      this.#hasHead = true;
      this.listener.onHead(status, headers);
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#isOver) return;
    this.listener.onData(piece);
    this.#bytesAtOnce += piece.length;
    if (this.#bytesAtOnce < MAX_BYTES_AT_ONCE || this.#isYielding) return;
    this.#isYielding = true;
    controller.pause();
    setImmediate(this.#onNextTurn);
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#connection?.answered();
    this.listener.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const isSoon = this.#leftAt !== null && this.#clock.ticks() - this.#leftAt <= MAX_STALE_MS;
    const reused = this.#connection?.isReused() === true && !this.#hasBegun && isSoon;
    this.fail(transportFailure(error, { headSeen: this.#hasHead, reused }));
  }

  readonly #onNextTurn = (): void => {
    this.#isYielding = false;
    this.#bytesAtOnce = 0;
    this.#goOn();
  };

  readonly #goOn = (): void => {
    if (!this.#isOver && !this.#isPaused && !this.#isYielding) this.#controller?.resume();
  };
}
