import { cut } from '../support/pieces.ts';
import type { Draws } from './draws.ts';

/** What is sent at once. */
export interface Piece {
  readonly bytes: Buffer;
  /** Time before it; null: none, but it is sent by itself. */
  readonly waitMs: number | null;
}

/** Cuts bytes into pieces, in the middle of characters too. */
export function paced(bytes: Buffer, draws: Draws): Piece[] {
  const places = Array.from({ length: draws.pick([0, 0, 3, 12]) }, () => draws.below(bytes.length));
  // Here and there byte by byte.
  const from = draws.below(bytes.length);
  if (draws.happens(0.1)) for (let at = 0; at < 40; at += 1) places.push(from + at);
  const slow = draws.pick([0, 0, 0, 0.3]);
  const pieces = bytes.length === 0 ? [] : cut(bytes, places);
  return pieces.map((piece, at) => ({ bytes: piece, waitMs: waitBefore(at, slow, draws) }));
}

/** Some first words take longer than the hedge delay; none takes as long as a timeout. */
function waitBefore(at: number, slow: number, draws: Draws): number | null {
  if (at === 0 && draws.happens(0.1)) return draws.below(500);
  return at < 10 && draws.happens(slow) ? draws.below(80) : null;
}
