import type { Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { buildConnector, Client, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { type Clock, systemClock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { isLoopbackHost } from './addresses.ts';
import { Call, MAX_HEAD_BYTES } from './outgoing-call.ts';
import { isUnaskedAnswer } from './tls-and-socket-failures.ts';
import type { HttpClient, HttpRequest } from './types.ts';

/**
 * How long an idle connection is kept when the upstream does not say. Engines close theirs after 5 s or more.
 * That is noticed at once, unless a request is just being written, and then it is sent again.
 */
const UPSTREAM_IDLE_MS = 30_000;

const LIMITS = {
  allowH2: false,
  maxHeaderSize: MAX_HEAD_BYTES,
  keepAliveTimeout: UPSTREAM_IDLE_MS,
  keepAliveMaxTimeout: UPSTREAM_IDLE_MS,
  /** A request written while the other side closes is lost, so the announced time is not used in full. */
  keepAliveTimeoutThreshold: 1000,
  // Callers have deadlines of their own.
  headersTimeout: 0,
  bodyTimeout: 0,
} as const;

/**
 * For a connection attempt: a machine that sleeps does not even refuse it, and its callers wait for so long. It
 * covers two repeated SYN packets, sent after 1 and 3 s (RFC 6298).
 */
export const CONNECT_TIMEOUT_MS = 5000;

/** Without sessions: they save nothing worth having since TLS 1.3, and one that a server has forgotten fails the handshake. */
const connectTo = buildConnector({
  allowH2: false,
  timeout: CONNECT_TIMEOUT_MS,
  maxCachedSessions: 0,
});

const PROXY_LIMITS = { allowH2: false, connectTimeout: CONNECT_TIMEOUT_MS };

/** Beyond this many, those without a connection are forgotten: machines change their addresses. */
const MAX_ORIGINS = 1000;
/** Longer than what an origin that sends bytes nobody asked for still has on its way. */
const DISTRUST_MS = 600_000;

interface ClientEdges {
  readonly clock: Clock;
  /** Called for an origin that has sent bytes nobody asked for, at most once in ten minutes. */
  readonly onUnasked: (origin: string) => void;
}

/**
 * Keeps any number of connections, with one request at a time on each, and each is a client of undici: its own pool hands
 * a connection on without a sign of what has come on it. Connections to an origin that has sent bytes nobody asked for
 * are not kept for ten minutes.
 */
export function createHttpClient({
  clock = systemClock,
  onUnasked = () => {},
}: Partial<ClientEdges> = {}): HttpClient {
  const origins = new Map<string, Origin>();
  let isClosed = false;

  function originOf({ origin: url, address, proxied = false }: HttpRequest): Origin {
    let key = proxied ? `${url} through a proxy` : url;
    if (address !== undefined) key += ` at ${address}`;
    let origin = origins.get(key);
    if (origin === undefined) {
      if (origins.size >= MAX_ORIGINS) forgetUnconnected();
      origin = {
        url,
        address,
        proxies: proxied ? proxiesTo(url) : null,
        idle: [],
        open: new Set(),
        ...createDistrust(url),
      };
      origins.set(key, origin);
    }
    return origin;
  }

  /** Remembers that an origin sent bytes unasked, which would answer the next request on a kept connection. */
  function createDistrust(url: string): Pick<Origin, 'isDistrusted' | 'distrust'> {
    let untilTicks = -Infinity;
    const isDistrusted = () => clock.ticks() < untilTicks;
    return {
      isDistrusted,
      distrust() {
        if (!isDistrusted()) onUnasked(url);
        untilTicks = clock.ticks() + DISTRUST_MS;
      },
    };
  }

  function forgetUnconnected(): void {
    for (const [key, { open, isDistrusted }] of origins)
      if (open.size === 0 && !isDistrusted()) origins.delete(key);
  }

  /** Its failure is told later: a caller has what is returned before it hears of one. */
  function start(request: HttpRequest, call: Call, isRetry: boolean): void {
    if (request.signal?.aborted === true) return process.nextTick(call.onSignal);
    const origin = originOf(request);
    const kept = isRetry ? undefined : origin.idle.pop();
    try {
      const connection = kept ?? new Connection(origin);
      call.start(connection);
      if (isClosed) connection.destroy();
    } catch (error) {
      // undici throws for an address of a proxy that it cannot use.
      const detail = messageOf(error);
      process.nextTick(() => call.fail({ kind: 'unreachable', detail }));
    }
  }

  return {
    send(request, listener) {
      const call = new Call(request, listener, clock, () => start(request, call, true));
      start(request, call, false);
      return call;
    },
    dropIdle() {
      for (const { idle } of origins.values())
        for (const connection of idle.splice(0)) connection.destroy();
    },
    close() {
      isClosed = true;
      for (const { open } of origins.values()) for (const connection of open) connection.destroy();
    },
  };
}

/** What other programs take them from, so an API may answer everywhere but here (ollama/ollama#729); null if none is set. */
function proxiesTo(url: string): Proxies | null {
  if (isLoopbackHost(new URL(url).hostname)) return null;
  const httpProxy = proxyIn('http_proxy') ?? proxyIn('HTTP_PROXY') ?? '';
  const httpsProxy = proxyIn('https_proxy') ?? proxyIn('HTTPS_PROXY') ?? httpProxy;
  return httpsProxy === '' ? null : { httpProxy, httpsProxy };
}

/** As curl does, one without a scheme is taken for `http:`. */
function proxyIn(name: string): string | null {
  const address = process.env[name] ?? '';
  if (address === '') return null;
  return address.includes('://') ? address : `http://${address}`;
}

/** For `http:` and `https:` origins; empty for none. Which of them are reached directly says NO_PROXY. */
interface Proxies {
  readonly httpProxy: string;
  readonly httpsProxy: string;
}

/** An origin and the connections to it. */
interface Origin {
  readonly url: string;
  /** Where it is, if its name must not be resolved. */
  readonly address: string | undefined;
  /** Null for one that is reached directly. */
  readonly proxies: Proxies | null;
  /** Most recently used last. */
  readonly idle: Connection[];
  /** Idle and in use. */
  readonly open: Set<Connection>;
  /** Whether no connection to it may be kept now. */
  readonly isDistrusted: () => boolean;
  /** It has sent bytes that nobody asked for. */
  readonly distrust: () => void;
}

/** A client of undici that has one connection, for one request at a time. */
class Connection {
  readonly #origin: Origin;
  readonly #dispatcher: Dispatcher;
  #socket: Socket | null = null;
  /** Listens to the socket but for the body of a response, each piece of which would pass through here. */
  #onReadable = (): void => {};
  #handler: Call | null = null;
  /** A request was written whose response is not complete. */
  #isAsked = false;
  #isReused = false;
  /** The bytes read from the socket before the request, and those of its response read by undici. */
  #readBefore = 0;
  #parsedBytes = 0;

  constructor(origin: Origin) {
    this.#origin = origin;
    // It takes the way through a proxy if undici has made one.
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
  send({ method, path, headers, body }: HttpRequest, handler: Call): void {
    this.#handler = handler;
    const request = { origin: this.#origin.url, method, path, body, headers: [...headers] };
    this.#dispatcher.dispatch(request, handler);
  }

  /** The request is being written. */
  asks(): void {
    this.#isAsked = true;
    this.#readBefore = this.#socket?.bytesRead ?? 0;
    this.#parsedBytes = 0;
  }

  headSeen(): void {
    this.#socket?.off('readable', this.#onReadable);
  }

  isReused(): boolean {
    return this.#isReused;
  }

  /** The response is complete; keeps the connection if it can be reused. */
  answered(): void {
    this.#handler = null;
    this.#isAsked = false;
    this.#isReused = true;
    // The rest of a request that is not written out yet would run into the next one.
    if (this.#socket === null || this.#socket.writableLength > 0) this.destroy();
    // It is freed in the next turn: bytes right after a response have come by then and close the connection.
    else {
      this.#watch(this.#socket);
      setImmediate(this.#keep);
    }
  }

  destroy(): void {
    this.#leave();
    this.#socket?.destroy();
    void this.#dispatcher.destroy();
  }

  readonly #keep = (): void => {
    const { idle, isDistrusted } = this.#origin;
    if (this.#socket?.destroyed === false && !isDistrusted()) idle.push(this);
    else this.destroy();
  };

  #leave(): void {
    const { idle, open } = this.#origin;
    const at = idle.indexOf(this);
    if (at !== -1) idle.splice(at, 1);
    open.delete(this);
  }

  readonly #connect: buildConnector.connector = (options, callback) => {
    const { address = options.hostname } = this.#origin;
    if (options.protocol === 'https:') trustSystemCertificates();
    this.#socket = connectTo({ ...options, hostname: address }, callback) as unknown as Socket;
  };

  /** Bytes before the request was written, or after its response: they would be taken for the answer to the next one. */
  #watching(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) => {
      connect(options, (...[error, socket]) => {
        if (error !== null) return callback(error, null);
        this.#socket = socket;
        this.#isReused = false;
        this.#onReadable = () => this.#onBytes(socket);
        this.#watch(socket);
        socket.on('error', (cause) => {
          if (!this.#isAsked && isUnaskedAnswer(cause)) this.#distrust();
        });
        // A request that waits to be written gets a new connection from undici.
        socket.on('close', () => this.#handler === null && this.destroy());
        callback(null, socket);
      });
    };
  }

  /** Listens before undici does, which does not show bytes that nobody asked for. */
  #watch(socket: Socket): void {
    socket.prependListener('readable', this.#onReadable);
  }

  #onBytes(socket: Socket): void {
    if (!this.#isAsked) this.#onUnasked(socket);
    else if (this.#handler?.awaitsHead(this.#parsedBytes) === true)
      this.#parsedBytes = socket.bytesRead - this.#readBefore;
  }

  #onUnasked(socket: Socket): void {
    const bytes = socket.read() as Buffer | null;
    if (bytes === null) return;
    if (!saysTimedOut(bytes)) this.#distrust();
    socket.destroy();
  }

  #distrust(): void {
    const { distrust, open } = this.#origin;
    distrust();
    // What is on its way may come on another one.
    for (const connection of open) if (!connection.#isAsked) connection.#socket?.destroy();
  }
}

/** Whether bytes that nobody asked for only say that a connection was idle for too long, before it is closed. */
const saysTimedOut = (bytes: Buffer): boolean =>
  /^HTTP\/1\.[01] 408 /.test(bytes.toString('latin1', 0, 16));

let isSystemTrusted = false;

/**
 * Makes this process trust what the system trusts, such as the authority of a company, beside what Node brings. Before the
 * first TLS connection only: the store is read in one piece, which takes 50 ms.
 */
function trustSystemCertificates(): void {
  if (isSystemTrusted) return;
  isSystemTrusted = true;
  setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system')]);
}
