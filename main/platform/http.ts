import type { TransportFailure } from './transport-failure.ts';

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
