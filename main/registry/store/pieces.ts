/** Answers to heartbeats that the gateway's thread sends before it turns to requests again; each takes 0.1 ms. */
export const ANSWERS_AT_ONCE = 50;
/**
 * Machines written by other gateways that it applies before it turns to requests again, in a few milliseconds. On busy
 * cores each piece waits for its turn, so smaller pieces would let a gateway fall further behind
 * (docs/performance.md#pool).
 */
export const MACHINES_AT_ONCE = 125;

export function* piecesOf<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}
