import { connect, type Socket } from 'node:net';
import {
  errorOf,
  REQUEST_TIMEOUT_STATUS,
  saysTimedOut,
  TIMED_OUT,
  transportFailure,
} from './failures.ts';
import {
  createResponseParser,
  type ResponseParts,
  type ParseState,
  type ResponseParser,
} from './http1-parser.ts';
import { writeRequest } from './http1-request.ts';
import {
  type Exchange,
  type HttpRequest,
  KEEP_ALIVE_MS,
  type ResponseHeaders,
  type ResponseListener,
} from './types.ts';

/** An origin and the connections to it. */
export interface PlainOrigin {
  readonly host: string;
  readonly port: number;
  /** The value of the `Host` header. */
  readonly authority: string;
  /** Most recently used last. */
  readonly idle: PlainConnection[];
  /** Idle and in use. */
  readonly open: Set<PlainConnection>;
  /** Whether no connection may be kept. */
  readonly isDistrusted: () => boolean;
  /** It has sent bytes that nobody asked for. */
  readonly distrust: () => void;
}

/**
 * Shared by all connections; the parser copies out of it what is passed on. By default Node allocates 64 KiB
 * for each read, and most bring one event of some 300 bytes (`npm run bench`).
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

class PlainExchange implements Exchange, ResponseParts {
  listener: ResponseListener;
  readonly #connection: PlainConnection;
  #hasLeft = false;

  constructor(listener: ResponseListener, connection: PlainConnection) {
    this.listener = listener;
    this.#connection = connection;
  }

  onHead(status: number, headers: ResponseHeaders): void {
    if (!this.#connection.serves(this)) return;
    const hasTimedOut = status === REQUEST_TIMEOUT_STATUS && this.#connection.isReused();
    if (hasTimedOut) this.#connection.onRequestTimeout();
    else this.listener.onHead(status, headers);
  }

  onData(piece: Buffer): void {
    if (this.#connection.serves(this)) this.listener.onData(piece);
  }

  pause(): void {
    this.#connection.pause(this);
  }

  resume(): void {
    this.#connection.resume(this);
  }

  abort(): void {
    this.#connection.abort(this);
  }

  leave(): void {
    this.#hasLeft = true;
  }

  hasLeft(): boolean {
    return this.#hasLeft;
  }
}

/** A connection without TLS, for one request at a time. */
export class PlainConnection {
  readonly #origin: PlainOrigin;
  readonly #socket: Socket;
  #call: PlainExchange | null = null;
  #parser: ResponseParser | null = null;
  #responses = 0;
  /** Paused by the listener. */
  #isPaused = false;

  constructor(origin: PlainOrigin, connectTimeoutMs: number) {
    this.#origin = origin;
    origin.open.add(this);
    const { host, port } = origin;
    const onread = { buffer: READ_BUFFER, callback: this.#onRead };
    this.#socket = connect({ host, port, noDelay: true, onread });
    this.#socket.setTimeout(connectTimeoutMs);
    this.#socket.on('connect', () => this.#socket.setTimeout(0));
    this.#socket.on('timeout', this.#onTimeout);
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
    const call = new PlainExchange(listener, this);
    this.#call = call;
    if (this.isReused()) {
      this.#socket.setTimeout(0);
      setImmediate(this.#onFirstImmediate, call, request);
    } else this.#write(call, request);
    return call;
  }

  readonly #onFirstImmediate = (call: PlainExchange, request: HttpRequest): void => {
    if (this.#call === call) setImmediate(this.#onSecondImmediate, call, request);
  };

  readonly #onSecondImmediate = (call: PlainExchange, request: HttpRequest): void => {
    if (this.#call !== call) return;
    if (this.#socket.writable && !this.#origin.isDistrusted()) this.#write(call, request);
    else this.#fail(errorOf('CLOSED'));
  };

  destroy(): void {
    this.#socket.destroy();
  }

  isReused(): boolean {
    return this.#responses > 0;
  }

  /** False once `call` was aborted or is over. */
  serves(call: PlainExchange): boolean {
    return this.#call === call;
  }

  pause(call: PlainExchange): void {
    if (this.#call !== call) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(call: PlainExchange): void {
    if (this.#call !== call) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  abort(call: PlainExchange): void {
    if (this.#call !== call) return;
    this.#call = null;
    this.#socket.destroy();
  }

  /** The other side had given up the idle connection; the request can be sent again on a new one. */
  onRequestTimeout(): void {
    const call = this.#call;
    this.#call = null;
    this.#socket.destroy();
    call?.listener.onFailure(TIMED_OUT);
  }

  #write(call: PlainExchange, request: HttpRequest): void {
    this.#parser = createResponseParser(call);
    writeRequest(this.#socket, this.#origin.authority, request);
    if (this.#socket.connecting) this.#socket.once('connect', () => call.leave());
    else call.leave();
  }

  readonly #onRead = (bytes: number): boolean => {
    if (this.#parser === null) this.#onUnasked(READ_BUFFER.subarray(0, bytes));
    else this.#onState(this.#parser.push(READ_BUFFER, bytes));
    if (bytes === READ_BUFFER.length && this.#call !== null && !this.#isPaused) this.#yieldTurn();
    return true;
  };

  /** Bytes before the request was written: they would be taken for its response. */
  #onUnasked(bytes: Buffer): void {
    if (!saysTimedOut(bytes)) this.#origin.distrust();
    if (this.#call === null) this.#dropIdle();
    else this.#fail(errorOf('CLOSED'));
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
        this.#origin.distrust();
        this.#finish(false);
        break;
      case 'malformed':
        this.#fail(errorOf('MALFORMED'));
        break;
      case 'too_large':
        this.#fail(errorOf('HEAD_TOO_LARGE'));
        break;
      case 'too_many_heads':
        this.#fail(errorOf('TOO_MANY_HEADS'));
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
      this.#socket.setTimeout(Math.min(keptMs, KEEP_ALIVE_MS));
      setImmediate(this.#keep);
    } else this.#socket.destroy();
    call?.listener.onEnd();
  }

  /** In the next turn: bytes right after a response have come by then and close the connection. */
  readonly #keep = (): void => {
    if (this.#origin.isDistrusted()) this.#socket.destroy();
    else if (this.#socket.writable) this.#origin.idle.push(this);
  };

  #fail(error: Error): void {
    const call = this.#call;
    const parser = this.#parser;
    this.#call = null;
    this.#socket.destroy();
    call?.listener.onFailure(
      transportFailure(error, {
        headSeen: parser?.headSeen() ?? false,
        reused: this.isReused() && parser?.hasBegun() !== true,
      }),
    );
  }

  readonly #onTimeout = (): void => {
    if (this.#call === null) this.#dropIdle();
    else this.#fail(errorOf('CONNECT_TIMEOUT'));
  };

  readonly #onEnd = (): void => {
    this.#leaveIdle();
    if (this.#parser?.endsWithConnection() === true) this.#finish(false);
  };

  readonly #onClosed = (error: Error): void => {
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
