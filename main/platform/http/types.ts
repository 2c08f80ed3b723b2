/** One request to an upstream, ready to be written. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** As in `https://api.example.com:443`. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Names and values in turn; what the wire gets, in this order. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
  /** Insist on a new connection instead of a kept one. */
  readonly fresh: boolean;
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Who hears of a response's parts; exactly one of `onEnd` and `onFailure` comes last. */
export interface ResponseListener {
  onHead(status: number, headers: ResponseHeaders): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onFailure(failure: TransportFailure): void;
}

/** A request under way. */
export interface Exchange {
  /** Who hears of the rest; may be handed from the one that waits to the one that relays. */
  listener: ResponseListener;
  /** Stops reading from the socket; what the kernel holds stays there. */
  pause(): void;
  resume(): void;
  /** Ends the call at once and closes its connection; the listener hears nothing more. */
  abort(): void;
}

/** The way out to upstreams: pooled, with TLS checked, no redirects, no retries, no time-outs of its own. */
export interface HttpClient {
  send(request: HttpRequest, listener: ResponseListener): Exchange;
  close(): Promise<void>;
}

/** Why an exchange with an upstream broke, in terms that decide what to do next. */
export interface TransportFailure {
  /**
   * `unreachable`: no connection, or it broke before the response began.
   * `malformed`: what came is not HTTP, or its head is over the limit.
   * `cut`: the response had begun and did not end.
   */
  readonly kind: 'unreachable' | 'malformed' | 'cut';
  /** A kept connection broke before any byte of this response: the other side had just closed it. */
  readonly stale: boolean;
  /** Short text for logs and reports, such as `ECONNREFUSED 127.0.0.1:8080`; never holds a secret. */
  readonly detail: string;
}

/** Codes for a response that is none; undici's parser error has a name, but no code of its own. */
const MALFORMED = new Set([
  'MALFORMED',
  'HEAD_TOO_LARGE',
  'TOO_MANY_HEADS',
  'HTTPParserError',
  'UND_ERR_HEADERS_OVERFLOW',
]);
/** Codes for a connection that was there and is gone. */
const BROKEN = new Set(['CLOSED', 'UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** Sorts an error of a client or of its socket by its code. */
export function transportFailure(
  error: Error,
  seen: { readonly headSeen: boolean; readonly reused: boolean },
): TransportFailure {
  const code = codeOf(error);
  const detail = describe(error, code);
  if (seen.headSeen) return { kind: 'cut', stale: false, detail };
  if (MALFORMED.has(code)) return { kind: 'malformed', stale: false, detail };
  return { kind: 'unreachable', stale: BROKEN.has(code) && seen.reused, detail };
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/** Codes that say nothing to people. */
const WORDS: Readonly<Record<string, string>> = {
  CLOSED: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  HEAD_TOO_LARGE: 'the response head is too large',
  TOO_MANY_HEADS: 'too many interim heads came before the response',
  UND_ERR_HEADERS_OVERFLOW: 'the response head is too large',
  MALFORMED: 'the response is not HTTP',
  HTTPParserError: 'the response is not HTTP',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the body has not the length it said',
};

function describe(error: Error, code: string): string {
  const words = WORDS[code];
  if (words !== undefined) return words;
  // With two address families Node reports one error that holds an error per address.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const cause = first instanceof Error ? first : error;
  const address =
    'address' in cause && typeof cause.address === 'string' ? ` ${cause.address}` : '';
  const port = 'port' in cause && typeof cause.port === 'number' ? `:${cause.port}` : '';
  const host =
    'hostname' in cause && typeof cause.hostname === 'string' ? ` ${cause.hostname}` : '';
  return `${code === 'Error' ? codeOf(cause) : code}${host}${address}${port}`;
}

/**
 * How long an idle connection is kept where the upstream does not say. Engines close theirs after 5 s
 * or more, which is noticed at once but for a race, and that one request is sent again.
 */
export const KEEP_ALIVE_MS = 30_000;
/** Response heads beyond this are malformed. */
export const MAX_HEAD_BYTES = 32 * 1024;
/**
 * Heads before the final one: an upstream that says `102 Processing` every ten seconds may do so for a
 * quarter of an hour, and one that sends nothing else is given up.
 */
export const MAX_INTERIM_HEADS = 100;

/** What some say on a connection that was idle for too long, before they close it. */
export const REQUEST_TIMEOUT_STATUS = 408;
/** Such an answer, met on a kept connection: the request may be sent again on a new one (RFC 9110, 15.5.9). */
export const TIMED_OUT: TransportFailure = {
  kind: 'unreachable',
  stale: true,
  detail: 'the connection had timed out (408)',
};
