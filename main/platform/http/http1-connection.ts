import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { serverNameOf } from '../network-guard.ts';
import type { Distrust } from './distrust.ts';
import { type ParseState, ResponseParser, type ResponseParts } from './http1-parser.ts';
import { errorOf, transportFailure } from './tls-and-socket-failures.ts';
import {
  type Exchange,
  type HttpRequest,
  KEEP_ALIVE_MS,
  MAX_INTERIM_HEADS,
  type ResponseHeaders,
  type ResponseListener,
  type TransportFailure,
} from './types.ts';

/** An origin and the connections to it. */
export interface OriginPool {
  readonly url: string;
  readonly isTls: boolean;
  readonly host: string;
  readonly port: number;
  /** The value of the `Host` header. */
  readonly authority: string;
  /** Most recently used last. */
  readonly idle: HttpConnection[];
  /** Idle and in use. */
  readonly open: Set<HttpConnection>;
  /** Says whether no connection may be kept. */
  readonly distrust: Distrust;
  /** Of the last TLS connection: the next one takes half the handshake. */
  session: Buffer | undefined;
}

/** Taken out first: a destroyed connection leaves the list only when its socket emits `close`. */
export function closeAll(idle: HttpConnection[]): void {
  for (const connection of idle.splice(0)) connection.destroy();
}

/**
 * Shared by all connections; the parser copies out of it what is passed on. By default Node allocates 64 KiB
 * for each read, and most bring one event of some 300 bytes (`npm run bench`).
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

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

const TOO_MANY_HEADS: TransportFailure = {
  kind: 'malformed',
  stale: false,
  detail: 'too many interim heads came before the response',
};

/** Passes on what its listener is to hear, and nothing once it is over. */
class ConnectionExchange implements Exchange, ResponseParts {
  listener: ResponseListener;
  readonly #connection: HttpConnection;
  #isOver = false;
  #hasLeft = false;
  #hasHead = false;
  #interimHeads = 0;

  constructor(listener: ResponseListener, connection: HttpConnection) {
    this.listener = listener;
    this.#connection = connection;
  }

  pause(): void {
    this.#connection.pause(this);
  }

  resume(): void {
    this.#connection.resume(this);
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
    this.#connection.close(this);
  }

  /** Takes interim (1xx) heads, too. */
  onHead(status: number, headers: ResponseHeaders): void {
    if (this.#isOver) return;
    if (status < 200) {
      this.#interimHeads += 1;
      if (this.#interimHeads > MAX_INTERIM_HEADS) this.#breakOff(TOO_MANY_HEADS);
    } else if (status === REQUEST_TIMEOUT_STATUS && this.#connection.isReused())
      this.#breakOff(TIMED_OUT);
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

  /** The connection is lost. `hasBegun`: a byte of the response had come. */
  onError(error: Error, hasBegun: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const reused = this.#connection.isReused() && !hasBegun;
    this.listener.onFailure(transportFailure(error, { headSeen: this.#hasHead, reused }));
  }

  #breakOff(failure: TransportFailure): void {
    this.abort();
    this.listener.onFailure(failure);
  }
}

/** A connection for one request at a time. */
export class HttpConnection {
  readonly #origin: OriginPool;
  readonly #socket: Socket;
  /** Connected, and over TLS its certificate checked. */
  #isReady = false;
  #call: ConnectionExchange | null = null;
  /** To be written once the connection is ready. */
  #waiting: { readonly call: ConnectionExchange; readonly request: HttpRequest } | null = null;
  #parser: ResponseParser | null = null;
  #responses = 0;
  /** Paused by the listener. */
  #isPaused = false;
  /** Of the connection attempt, then of being idle; a timeout of the socket is started anew by each read and write. */
  #timer: NodeJS.Timeout;
  #idleMs = 0;

  constructor(origin: OriginPool, connectTimeoutMs: number) {
    this.#origin = origin;
    origin.open.add(this);
    this.#socket = connectTo(origin, this.#onRead);
    this.#timer = setTimeout(this.#onTimeout, connectTimeoutMs).unref();
    this.#socket.on(origin.isTls ? 'secureConnect' : 'connect', this.#onReady);
    this.#socket.on('end', this.#onEnd);
    this.#socket.on('error', this.#onClosed);
    this.#socket.on('close', () => this.#onClosed(errorOf('CLOSED')));
  }

  /**
   * The connection must be idle or new. On a kept one the request is written after the event loop has polled
   * its sockets once: bytes that had come before the request would be taken for its response. The first immediate
   * may still run in the present turn, after its poll; the second runs in the next turn.
   */
  send(request: HttpRequest, listener: ResponseListener): Exchange {
    const call = new ConnectionExchange(listener, this);
    this.#call = call;
    if (this.isReused()) setImmediate(this.#onFirstImmediate, call, request);
    else this.#write(call, request);
    return call;
  }

  readonly #onFirstImmediate = (call: ConnectionExchange, request: HttpRequest): void => {
    if (this.#call === call) setImmediate(this.#onSecondImmediate, call, request);
  };

  readonly #onSecondImmediate = (call: ConnectionExchange, request: HttpRequest): void => {
    if (this.#call !== call) return;
    if (this.#socket.writable && !this.#isDistrusted()) this.#write(call, request);
    else this.#fail(errorOf('CLOSED'));
  };

  destroy(): void {
    this.#socket.destroy();
  }

  isReused(): boolean {
    return this.#responses > 0;
  }

  pause(call: ConnectionExchange): void {
    if (this.#call !== call) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(call: ConnectionExchange): void {
    if (this.#call !== call) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  close(call: ConnectionExchange): void {
    if (this.#call !== call) return;
    this.#call = null;
    this.#socket.destroy();
  }

  #write(call: ConnectionExchange, request: HttpRequest): void {
    if (!this.#isReady) {
      this.#waiting = { call, request };
      return;
    }
    this.#parser = new ResponseParser(call);
    writeRequest(this.#socket, this.#origin.authority, request);
    call.leave();
  }

  readonly #onRead = (bytes: number): boolean => {
    if (this.#parser === null) this.#onUnasked(READ_BUFFER.subarray(0, bytes));
    else this.#onState(this.#parser.push(READ_BUFFER, bytes));
    if (bytes === READ_BUFFER.length && this.#call !== null && !this.#isPaused) this.#yieldTurn();
    return true;
  };

  /** Bytes before the request was written: they would be taken for its response. */
  #onUnasked(bytes: Buffer): void {
    if (!saysTimedOut(bytes)) this.#distrust();
    if (this.#call === null) this.#dropIdle();
    else this.#fail(errorOf('CLOSED'));
  }

  #isDistrusted(): boolean {
    return this.#origin.distrust.has(this.#origin.url);
  }

  #distrust(): void {
    this.#origin.distrust.mark(this.#origin.url);
    // What is on its way may come on another one.
    closeAll(this.#origin.idle);
  }

  /** libuv reads up to 32 full buffers in a row, so fifty fast upstreams would block the event loop. */
  #yieldTurn(): void {
    this.#socket.pause();
    setImmediate(this.#onNextTurn);
  }

  readonly #onNextTurn = (): void => {
    if (!this.#isPaused) this.#socket.resume();
  };

  #onState(state: ParseState): void {
    switch (state) {
      case 'going':
        break;
      case 'whole':
        this.#finish(true);
        break;
      case 'overrun':
        this.#distrust();
        this.#finish(false);
        break;
      case 'malformed':
        this.#fail(errorOf('MALFORMED'));
        break;
      case 'too_large':
        this.#fail(errorOf('HEAD_TOO_LARGE'));
        break;
    }
  }

  /** The response is complete; keeps the connection if it can be reused. */
  #finish(isClean: boolean): void {
    const call = this.#call;
    const keptMs = this.#parser?.keepAliveMs() ?? null;
    // With a request that is not written out yet, the rest of it would run into the next one.
    const isReusable = isClean && this.#socket.writable && this.#socket.writableLength === 0;
    this.#call = null;
    this.#parser = null;
    this.#isPaused = false;
    this.#responses += 1;
    if (isReusable && keptMs !== null) {
      this.#socket.resume();
      this.#limitIdle(Math.min(keptMs, KEEP_ALIVE_MS));
      setImmediate(this.#keep);
    } else this.#socket.destroy();
    call?.onEnd();
  }

  /** The timer runs on through the next request, which costs less than to stop it. */
  #limitIdle(ms: number): void {
    if (ms === this.#idleMs) {
      this.#timer.refresh();
      return;
    }
    clearTimeout(this.#timer);
    this.#idleMs = ms;
    this.#timer = setTimeout(this.#onTimeout, ms).unref();
  }

  /** In the next turn: bytes right after a response have come by then and close the connection. */
  readonly #keep = (): void => {
    if (this.#isDistrusted()) this.#socket.destroy();
    else if (this.#socket.writable) this.#origin.idle.push(this);
  };

  #fail(error: Error): void {
    const call = this.#call;
    const hasBegun = this.#parser?.hasBegun() ?? false;
    this.#call = null;
    this.#socket.destroy();
    call?.onError(error, hasBegun);
  }

  readonly #onReady = (): void => {
    clearTimeout(this.#timer);
    this.#isReady = true;
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting !== null && waiting.call === this.#call) this.#write(waiting.call, waiting.request);
  };

  readonly #onTimeout = (): void => {
    if (this.#call === null) this.#dropIdle();
    else if (!this.#isReady) this.#fail(errorOf('CONNECT_TIMEOUT'));
  };

  readonly #onEnd = (): void => {
    this.#leaveIdle();
    if (this.#parser?.endsWithConnection() === true) this.#finish(false);
  };

  readonly #onClosed = (error: Error): void => {
    clearTimeout(this.#timer);
    this.#leaveIdle();
    this.#origin.open.delete(this);
    if (this.#call !== null) this.#fail(error);
  };

  #dropIdle(): void {
    this.#leaveIdle();
    this.#socket.destroy();
  }

  #leaveIdle(): void {
    const at = this.#origin.idle.indexOf(this);
    if (at !== -1) this.#origin.idle.splice(at, 1);
  }
}

function connectTo(origin: OriginPool, onRead: (bytes: number) => boolean): Socket {
  const { host, port, session } = origin;
  const options = { host, port, onread: { buffer: READ_BUFFER, callback: onRead } };
  if (!origin.isTls) return connect({ ...options, noDelay: true });
  const tls = { servername: serverNameOf(host), session, ALPNProtocols: ['http/1.1'] };
  const socket = connectTls({ ...options, ...tls });
  socket.on('secureConnect', () => socket.setNoDelay(true));
  socket.on('session', (next) => void (origin.session = next));
  return socket;
}

/** Up to this size head and body are joined and written as one string: a single plain system call. */
const MAX_ONE_PIECE_BYTES = 16 * 1024;

/** `authority`: the value of the `Host` header. */
function writeRequest(
  socket: Socket,
  authority: string,
  { method, path, headers, body }: HttpRequest,
): void {
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${authority}\r\nconnection: keep-alive\r\n`;
  for (let index = 0; index < headers.length; index += 2) {
    head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  }
  if (body === null) socket.write(`${head}\r\n`, 'latin1');
  else if (body.length <= MAX_ONE_PIECE_BYTES) {
    const text = `${head}content-length: ${body.length}\r\n\r\n${body.toString('latin1')}`;
    socket.write(text, 'latin1');
  } else {
    socket.cork();
    socket.write(`${head}content-length: ${body.length}\r\n\r\n`, 'latin1');
    socket.write(body);
    socket.uncork();
  }
}
