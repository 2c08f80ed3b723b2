import type { CancelSignal } from '../clock.ts';

/**
 * The states of an exchange. `abort` leads from any state to `over`, and no event follows it. `pause` and
 * `resume` stop and restart the reads of the response; they may be called in any state.
 *
 *   send() ──> connecting ──> waiting ──onHead──> receiving ──onEnd──> over
 *                  │             │                    │ ↺ onData
 *                  └─────────────┴────────────────────┴──onFailure──> over
 *
 * If the other side has closed a kept connection, the request is sent once more, on a new one, and leads from `waiting`
 * to `connecting`. Two implementations: that of outgoing-call.ts, and decoded() of decoding.ts, which wraps one from `onHead` on
 * and decodes its body.
 *
 * `listener` is looked up for each event, and is replaced in this order:
 *
 *   the attempt ──bufferEvents──> a buffer ──hand over──> the relay ──drain──> a sink
 *        └────────────── drain, once an assembled answer is complete ───────────↑
 *
 * The buffer (bufferEvents) holds the events that come between two listeners. The sink drops what follows the
 * last event until the response ends, so that its connection can be used again. `decoded` puts a listener of its
 * own on the exchange that it wraps; all further replacements happen on the outer one.
 */
export interface Exchange {
  listener: ResponseListener;
  /** Stops the reading. What has been read already may still come. */
  pause(): void;
  resume(): void;
  /** Closes the connection at once. */
  abort(): void;
  /** False while it is certain that the other side has seen nothing of the request. */
  hasLeft(): boolean;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** As in `https://api.example.com:443`. */
  readonly origin: string;
  /** The IP address to connect to, in place of those that the origin's name has by now. */
  readonly address?: string | undefined;
  /** Path and query. */
  readonly path: string;
  /** Names and values in turn, sent in this order. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
  /** Through the proxy that the environment names, if it does for this origin. Never to one's own machines. */
  readonly proxied?: boolean;
  /** Aborted, it ends the request as a failure of its own kind. */
  readonly signal?: CancelSignal | undefined;
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Exactly one of `onEnd` and `onFailure` comes last, unless the exchange is aborted. */
export interface ResponseListener {
  onHead(status: number, headers: ResponseHeaders): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onFailure(failure: TransportFailure): void;
}

/**
 * Pools connections and checks certificates. Follows no redirects, sends a request again only if its kept connection turns
 * out to be closed, and limits only the time of a connection attempt.
 */
export interface HttpClient {
  send(request: HttpRequest, listener: ResponseListener): Exchange;
  /** Closes idle connections, as after a sleep, which most of them do not survive; those in use are left alone. */
  dropIdle(): void;
  close(): void;
}

export interface TransportFailure {
  /**
   * `unreachable`: no connection, or it broke before the response began.
   * `malformed`: the response is not HTTP, or its head is over the limit.
   * `cut`: the response began and did not end.
   * `exhausted`: this process or machine has no descriptor left for a connection; says nothing about the upstream.
   * `ended`: by the signal of the request.
   */
  readonly kind: 'unreachable' | 'malformed' | 'cut' | 'exhausted' | 'ended';
  /** Short text for logs and reports, such as `nothing listens at 127.0.0.1:8080`; never holds a secret. */
  readonly detail: string;
}
