import { ByteBuffer } from './byte-buffer.ts';
import type { Exchange, ResponseHeaders, ResponseListener } from './http.ts';
import type { TransportFailure } from './transport-failure.ts';

/**
 * Keeps what an exchange brings until its next listener is there; the returned function hands it over.
 * Between two listeners lie promise turns, in which an end or a failure may already come.
 */
export function park(exchange: Exchange): (next: ResponseListener) => void {
  const missed = new Missed();
  exchange.listener = missed;
  return (next) => {
    exchange.listener = next;
    missed.replay(exchange);
  };
}

class Missed implements ResponseListener {
  #head: { readonly status: number; readonly headers: ResponseHeaders } | null = null;
  readonly #data = new ByteBuffer();
  #hasEnded = false;
  #failure: TransportFailure | null = null;

  onHead(status: number, headers: ResponseHeaders): void {
    this.#head = { status, headers };
  }

  onData(chunk: Buffer): void {
    this.#data.add(chunk);
  }

  onEnd(): void {
    this.#hasEnded = true;
  }

  onFailure(failure: TransportFailure): void {
    this.#failure = failure;
  }

  /** Whoever hears one part may hand the rest on. */
  replay(exchange: Exchange): void {
    if (this.#head !== null) exchange.listener.onHead(this.#head.status, this.#head.headers);
    if (this.#data.length > 0) exchange.listener.onData(this.#data.take());
    if (this.#hasEnded) exchange.listener.onEnd();
    if (this.#failure !== null) exchange.listener.onFailure(this.#failure);
  }
}
