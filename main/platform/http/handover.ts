import type { Clock } from '../clock.ts';
import type { Exchange, ResponseListener } from './types.ts';

/**
 * Keeps what an exchange brings until its next listener is there; the returned function hands it over.
 * Between two listeners lie promise turns, in which an end or a failure may already come.
 */
export function bufferEvents(exchange: Exchange): (next: ResponseListener) => void {
  const missed: ((listener: ResponseListener) => void)[] = [];
  exchange.listener = {
    onHead: (status, headers) => missed.push((next) => next.onHead(status, headers)),
    onData: (chunk) => missed.push((next) => next.onData(chunk)),
    onEnd: () => missed.push((next) => next.onEnd()),
    onFailure: (failure) => missed.push((next) => next.onFailure(failure)),
  };
  return (next) => {
    exchange.listener = next;
    // Whoever hears one part may hand the rest on.
    for (const replay of missed) replay(exchange.listener);
  };
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
