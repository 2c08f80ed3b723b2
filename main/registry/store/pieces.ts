/** Machines, or answers to them, that the gateway's thread takes before it goes on to requests. */
const MOST_AT_ONCE = 50;

export function* piecesOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += MOST_AT_ONCE) yield all.slice(at, at + MOST_AT_ONCE);
}
