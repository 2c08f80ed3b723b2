import type { Socket } from 'node:net';
import { Agent, type buildConnector, Client, type Dispatcher, Pool } from 'undici';
import type { Distrust } from './distrust.ts';
import { errorOf, REQUEST_TIMEOUT_STATUS, TIMED_OUT, transportFailure } from './failures.ts';
import {
  type Exchange,
  type HttpClient,
  type HttpRequest,
  KEEP_ALIVE_MS,
  MAX_HEAD_BYTES,
  MAX_INTERIM_HEADS,
  type ResponseHeaders,
  type ResponseListener,
} from './types.ts';

/** The client for `https:` origins, on undici's `dispatch`: `fetch` takes four times the CPU time. */
export function createTlsClient(connectTimeoutMs: number, distrust: Distrust): HttpClient {
  const options: Agent.Options = {
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEAD_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: { timeout: connectTimeoutMs },
    // A pool of any number of connections, each with one request at a time.
    factory: (origin, poolOptions: Pool.Options) =>
      new Pool(origin, {
        ...poolOptions,
        factory: (url, clientOptions) =>
          new TrackedClient(url, clientOptions, () => onUnasked(url)),
      }),
  };
  let pooled = new Agent(options);
  /** Replaced by `dropIdle`; closed once their last requests have ended. */
  const retired = new Set<Agent>();
  // With pipelining 0 undici does not keep connections alive.
  const single = new Agent({ ...options, pipelining: 0 });

  function dropIdle(): void {
    const before = pooled;
    pooled = new Agent(options);
    retired.add(before);
    // Idle connections are closed at once, the others after their request.
    void before.close().then(() => retired.delete(before));
  }

  function onUnasked(url: string | URL): void {
    const isKnown = distrust.has(originOf(url));
    distrust.mark(originOf(url));
    // Those of other origins are closed with its own, once in ten minutes.
    if (!isKnown) dropIdle();
  }

  return {
    send(request, listener) {
      const exchange = new UndiciExchange(listener);
      // Bytes on a kept connection that came before this request must be seen before it is written. undici
      // waits for the end of the present turn, whose poll of the sockets may be over; so it is called in the next.
      const agent = () => (distrust.has(request.origin) ? single : pooled);
      if (request.fresh) dispatch(single, request, exchange);
      else setImmediate(() => dispatch(agent(), request, exchange));
      return exchange;
    },
    dropIdle,
    close: async () => {
      await Promise.all([pooled, single, ...retired].map((agent) => agent.destroy()));
    },
  };
}

const originOf = (url: string | URL): string => new URL(url).origin;

function dispatch(
  agent: Agent,
  { origin, path, method, headers, body }: HttpRequest,
  exchange: UndiciExchange,
): void {
  if (exchange.isOver()) return;
  agent.dispatch({ origin, path, method, headers: headers as string[], body }, exchange);
}

/** undici's own type of its connectors leaves out that they return the socket. */
type Connect = (options: buildConnector.Options, done: buildConnector.Callback) => Socket;

/** An undici client that knows the bytes and responses of its connection. */
class TrackedClient extends Client {
  /** On the present connection; with one or more, it is a reused one. */
  responses = 0;
  #socket: Socket | null = null;

  /** Nothing is asked on the present connection. */
  #isIdle = false;

  constructor(origin: string | URL, options: Client.Options, onUnasked: () => void) {
    // The pool has turned the connect options into a connector.
    const connect = options.connect as Connect;
    super(origin, {
      ...options,
      connect: (target, done) => {
        this.#socket = connect(target, done);
      },
    });
    this.on('connect', () => {
      this.responses = 0;
    });
    this.on('disconnect', (_origin, _targets, error) => {
      if (this.#isIdle && isUnasked(error)) onUnasked();
      this.#isIdle = false;
    });
  }

  asked(): void {
    this.#isIdle = false;
  }

  answered(): void {
    this.responses += 1;
    this.#isIdle = true;
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    if (handler instanceof UndiciExchange) handler.client = this;
    return super.dispatch(options, handler);
  }

  /** On the present connection. */
  bytesRead(): number {
    return this.#socket?.bytesRead ?? 0;
  }

  /** undici goes on connecting after the request was aborted. */
  stopConnecting(): void {
    this.#socket?.destroy(new Error('aborted'));
  }
}

/** How undici closes a connection on which bytes came without a request; it does not show the bytes. */
const isUnasked = ({ name, message }: Error): boolean =>
  name === 'HTTPParserError' || message === 'bad response';

class UndiciExchange implements Exchange, Dispatcher.DispatchHandler {
  listener: ResponseListener;
  client: TrackedClient | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #bytesReadBefore = 0;
  #headSeen = false;
  #interimHeads = 0;
  #over = false;
  #hasLeft = false;

  constructor(listener: ResponseListener) {
    this.listener = listener;
  }

  isOver(): boolean {
    return this.#over;
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    if (!this.#over) this.#controller?.resume();
  }

  abort(): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#controller === null) this.client?.stopConnecting();
    else this.#controller.abort(new Error('aborted'));
  }

  hasLeft(): boolean {
    return this.#hasLeft;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#bytesReadBefore = this.client?.bytesRead() ?? 0;
    this.client?.asked();
    // Aborted while connecting: nothing may be written any more.
    if (this.#over) controller.abort(new Error('aborted'));
    else this.#hasLeft = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: ResponseHeaders,
  ): void {
    if (this.#over) return;
    if (status < 200) this.#countInterimHead();
    else if (status === REQUEST_TIMEOUT_STATUS && (this.client?.responses ?? 0) > 0) {
      this.abort();
      this.listener.onFailure(TIMED_OUT);
    } else {
      this.#headSeen = true;
      this.listener.onHead(status, headers);
    }
  }

  #countInterimHead(): void {
    this.#interimHeads += 1;
    if (this.#interimHeads <= MAX_INTERIM_HEADS) return;
    this.abort();
    const seen = { headSeen: false, reused: false };
    this.listener.onFailure(transportFailure(errorOf('TOO_MANY_HEADS'), seen));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#over) this.listener.onData(chunk);
  }

  onResponseEnd(): void {
    this.client?.answered();
    if (this.#over) return;
    this.#over = true;
    this.listener.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return;
    this.#over = true;
    const { client } = this;
    // A part of a head is a response that has begun: the server has seen the request.
    const isSilent = client?.bytesRead() === this.#bytesReadBefore;
    const reused = isSilent && client !== null && client.responses > 0;
    this.listener.onFailure(transportFailure(error, { headSeen: this.#headSeen, reused }));
  }
}
