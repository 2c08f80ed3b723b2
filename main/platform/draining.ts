import type { Clock } from './clock.ts';
import type { Exchange } from './http.ts';

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
