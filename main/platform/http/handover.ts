import { ByteBuffer } from '../byte-buffer.ts';
import type { Clock } from '../clock.ts';
import type { Exchange, ResponseListener } from './types.ts';

/**
 * Buffers the events of an exchange until its next listener is known; the returned function installs that
 * listener and replays them. Microtasks run between the two, and an end or a failure may arrive among them.
 */
export function bufferEvents(exchange: Exchange): (next: ResponseListener) => void {
  const events: ((listener: ResponseListener) => void)[] = [];
  const pieces = new ByteBuffer();
  exchange.listener = {
    onHead: (...head) => void events.push((listener) => listener.onHead(...head)),
    // Joined, because a list of small pieces would take a hundred times their memory.
    onData(piece) {
      if (pieces.length === 0) events.push((listener) => listener.onData(pieces.take()));
      pieces.add(piece);
    },
    onEnd: () => void events.push((listener) => listener.onEnd()),
    onFailure: (failure) => void events.push((listener) => listener.onFailure(failure)),
  };
  return (next) => {
    exchange.listener = next;
    // The listener is looked up for each event: one may replace it for the rest. For an answer that is over it may be
    // this buffer, whose list must not grow while it is played.
    for (const event of events.splice(0)) event(exchange.listener);
  };
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
