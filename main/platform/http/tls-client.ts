import type { Socket } from 'node:net';
import { Agent, type buildConnector, Client, type Dispatcher, Pool } from 'undici';
import { type Distrust, TransportExchange } from './transport.ts';
import {
  type HttpClient,
  type HttpRequest,
  KEEP_ALIVE_MS,
  MAX_HEAD_BYTES,
  type ResponseHeaders,
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

class UndiciExchange extends TransportExchange implements Dispatcher.DispatchHandler {
  client: TrackedClient | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #bytesReadBefore = 0;

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    if (!this.isOver()) this.#controller?.resume();
  }

  protected close(): void {
    if (this.#controller === null) this.client?.stopConnecting();
    else this.#controller.abort(new Error('aborted'));
  }

  protected isReused(): boolean {
    return this.client !== null && this.client.responses > 0;
  }

  protected hasBegun(): boolean {
    return this.client?.bytesRead() !== this.#bytesReadBefore;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#bytesReadBefore = this.client?.bytesRead() ?? 0;
    this.client?.asked();
    // Aborted while connecting: nothing may be written any more.
    if (this.isOver()) controller.abort(new Error('aborted'));
    else this.leave();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: ResponseHeaders,
  ): void {
    this.onHead(status, headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.onData(chunk);
  }

  onResponseEnd(): void {
    this.client?.answered();
    this.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.onError(error);
  }
}
