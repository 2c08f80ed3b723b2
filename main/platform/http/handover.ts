import { ByteBuffer } from '../byte-buffer.ts';
import type { Clock } from '../clock.ts';
import type { Exchange, ResponseHeaders, ResponseListener, TransportFailure } from './types.ts';

/**
 * Keeps what an exchange brings until its next listener is there; the returned function hands it over.
 * Between two listeners lie promise turns, in which an end or a failure may already come.
 */
export function bufferEvents(exchange: Exchange): (next: ResponseListener) => void {
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

/** How long the end of a response may follow its last event. */
const DRAIN_MS = 1000;

/**
 * Lets a response end whose content is complete, so that its connection can be used again;
 * one that goes on instead is closed.
 */
export function drain(exchange: Exchange, clock: Clock): void {
  const cancel = clock.after(DRAIN_MS, () => exchange.abort());
  exchange.listener = {
    onHead() {
      // A response has one head, and it was seen.
    },
    onData() {
      // Whatever follows the last event is nobody's.
    },
    onEnd: cancel,
    onFailure: cancel,
  };
}
