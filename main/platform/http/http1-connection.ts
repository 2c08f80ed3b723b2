import { connect, type Socket } from 'node:net';
import {
  createResponseParser,
  type ParsedParts,
  type ParseState,
  type ResponseParser,
} from './http1-parser.ts';
import {
  type Exchange,
  type HttpRequest,
  KEEP_ALIVE_MS,
  REQUEST_TIMEOUT_STATUS,
  type ResponseHeaders,
  type ResponseListener,
  TIMED_OUT,
  transportFailure,
} from './types.ts';

/** Where connections go to, and those that wait there for a request. */
export interface PlainOrigin {
  readonly host: string;
  readonly port: number;
  /** What the `Host` header says. */
  readonly authority: string;
  /** The one used last stands last. */
  readonly idle: PlainConnection[];
  /** All that are open. */
  readonly open: Set<PlainConnection>;
}

/** Up to this size head and body go out as one piece of text, which is one system call and no gathering. */
const MAX_ONE_PIECE_BYTES = 16 * 1024;

/**
 * Every read of every connection lands here, and the parser copies out of it what is handed on: Node would
 * allocate 64 KiB for each read, and most bring one event of some 300 bytes (`npm run bench`).
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/** One request on a connection. */
class Call implements Exchange, ParsedParts {
  listener: ResponseListener;
  readonly #connection: PlainConnection;

  constructor(listener: ResponseListener, connection: PlainConnection) {
    this.listener = listener;
    this.#connection = connection;
  }

  onHead(status: number, headers: ResponseHeaders): void {
    if (!this.#connection.serves(this)) return;
    const hasTimedOut = status === REQUEST_TIMEOUT_STATUS && this.#connection.isReused();
    if (hasTimedOut) this.#connection.timedOut();
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
}

/** A connection without TLS that serves one request at a time. */
export class PlainConnection {
  readonly #origin: PlainOrigin;
  readonly #socket: Socket;
  #call: Call | null = null;
  #parser: ResponseParser | null = null;
  #answers = 0;

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
    this.#socket.on('close', () => this.#onClosed(broken('CLOSED')));
  }

  /**
   * Sends a request; the connection must be idle or new. On a kept one it waits for one whole look of the
   * loop at its sockets: whatever had come before the request was handed over would be taken for its answer.
   * The first immediate runs in the present turn, whose look at the sockets may be over, the second in the next.
   */
  send(request: HttpRequest, listener: ResponseListener): Exchange {
    const call = new Call(listener, this);
    this.#call = call;
    if (this.isReused()) {
      this.#socket.setTimeout(0);
      setImmediate(this.#afterThisTurn, call, request);
    } else this.#write(call, request);
    return call;
  }

  readonly #afterThisTurn = (call: Call, request: HttpRequest): void => {
    if (this.#call === call) setImmediate(this.#afterNextLook, call, request);
  };

  readonly #afterNextLook = (call: Call, request: HttpRequest): void => {
    if (this.#call !== call) return;
    if (this.#socket.writable) this.#write(call, request);
    else this.#fail(broken('CLOSED'));
  };

  destroy(): void {
    this.#socket.destroy();
  }

  isReused(): boolean {
    return this.#answers > 0;
  }

  /** False once the call was ended from this side. */
  serves(call: Call): boolean {
    return this.#call === call;
  }

  pause(call: Call): void {
    if (this.#call === call) this.#socket.pause();
  }

  resume(call: Call): void {
    if (this.#call === call) this.#socket.resume();
  }

  abort(call: Call): void {
    if (this.#call !== call) return;
    this.#call = null;
    this.#socket.destroy();
  }

  /** The kept connection had waited too long for its other side: the request goes out again on another. */
  timedOut(): void {
    const call = this.#call;
    this.#call = null;
    this.#socket.destroy();
    call?.listener.onFailure(TIMED_OUT);
  }

  #write(call: Call, { method, path, headers, body }: HttpRequest): void {
    this.#parser = createResponseParser(call);
    let head = `${method} ${path} HTTP/1.1\r\nhost: ${this.#origin.authority}\r\nconnection: keep-alive\r\n`;
    for (let index = 0; index < headers.length; index += 2) {
      head += `${headers[index]}: ${headers[index + 1]}\r\n`;
    }
    if (body === null) this.#socket.write(`${head}\r\n`, 'latin1');
    else if (body.length <= MAX_ONE_PIECE_BYTES) {
      const text = `${head}content-length: ${body.length}\r\n\r\n${body.toString('latin1')}`;
      this.#socket.write(text, 'latin1');
    } else {
      this.#socket.cork();
      this.#socket.write(`${head}content-length: ${body.length}\r\n\r\n`, 'latin1');
      this.#socket.write(body);
      this.#socket.uncork();
    }
  }

  readonly #onRead = (bytes: number): boolean => {
    if (this.#parser !== null) this.#onState(this.#parser.push(READ_BUFFER, bytes));
    // Nobody asked for these: they would be taken for the next answer.
    else if (this.#call === null) this.#dropIdle();
    else this.#fail(broken('CLOSED'));
    return true;
  };

  #onState(state: ParseState): void {
    switch (state) {
      case 'going':
        break;
      case 'whole':
        this.#finish(true);
        break;
      case 'overrun':
        this.#finish(false);
        break;
      case 'malformed':
        this.#fail(broken('MALFORMED'));
        break;
      case 'too_large':
        this.#fail(broken('HEAD_TOO_LARGE'));
        break;
      case 'too_many_heads':
        this.#fail(broken('TOO_MANY_HEADS'));
        break;
    }
  }

  /** The response is whole; the connection waits for the next request, where that may be. */
  #finish(clean: boolean): void {
    const call = this.#call;
    const keptMs = this.#parser?.keepAliveMs() ?? null;
    // Answered before all of the request was out: the rest would run into the next one.
    const isReusable = clean && this.#socket.writable && this.#socket.writableLength === 0;
    this.#call = null;
    this.#parser = null;
    this.#answers += 1;
    if (isReusable && keptMs !== null) {
      this.#socket.resume();
      this.#socket.setTimeout(Math.min(keptMs, KEEP_ALIVE_MS));
      setImmediate(this.#keep);
    } else this.#socket.destroy();
    call?.listener.onEnd();
  }

  /** In the next turn: what comes right behind an answer has come by then. */
  readonly #keep = (): void => {
    if (this.#socket.writable) this.#origin.idle.push(this);
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
    else this.#fail(broken('CONNECT_TIMEOUT'));
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

/** An error with a code that `transportFailure` knows. */
function broken(code: string): Error {
  return Object.assign(new Error(code), { code });
}
