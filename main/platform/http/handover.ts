import { ByteBuffer } from '../byte-buffer.ts';
import type { Clock } from '../clock.ts';
import type { Exchange, ResponseHeaders, ResponseListener, TransportFailure } from './types.ts';

/**
 * Buffers the events of an exchange until its next listener is known; the returned function installs that
 * listener and replays them. Microtasks run between the two, and an end or a failure may arrive among them.
 */
export function bufferEvents(exchange: Exchange): (next: ResponseListener) => void {
  const buffered = new BufferedEvents();
  exchange.listener = buffered;
  return (next) => {
    exchange.listener = next;
    buffered.replay(exchange);
  };
}

class BufferedEvents implements ResponseListener {
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

  /** Looks the listener up for each event: one may replace it for the rest. */
  replay(exchange: Exchange): void {
    if (this.#head !== null) exchange.listener.onHead(this.#head.status, this.#head.headers);
    if (this.#data.length > 0) exchange.listener.onData(this.#data.take());
    if (this.#hasEnded) exchange.listener.onEnd();
    if (this.#failure !== null) exchange.listener.onFailure(this.#failure);
  }
}

/** How long the end of a response may follow its last event, and after how many bytes: an endless error never ends. */
const DRAIN_MS = 1000;
const MAX_DRAINED_BYTES = 65_536;

/**
 * Waits for the end of a response whose content is complete, so that its connection can be used again; closes
 * the connection of one that does not end in time.
 */
export function drain(exchange: Exchange, clock: Clock): void {
  const cancel = clock.after(DRAIN_MS, () => exchange.abort());
  let drainedBytes = 0;
  exchange.listener = {
    onHead() {
      // A response has one head, which came before its content.
    },
    onData({ length }) {
      drainedBytes += length;
      if (drainedBytes <= MAX_DRAINED_BYTES) return;
      cancel();
      exchange.abort();
    },
    onEnd: cancel,
    onFailure: cancel,
  };
}
