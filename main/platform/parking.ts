import type { Exchange, ResponseListener } from './http.ts';

/**
 * Keeps what an exchange brings until its next listener is there; the returned function hands it over.
 * Between two listeners lie promise turns, in which an end or a failure may already come.
 */
export function park(exchange: Exchange): (next: ResponseListener) => void {
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
