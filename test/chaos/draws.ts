import { chance } from '../support/chance.ts';

/** Chance that depends on nothing but the names that it is drawn for. */
export interface Draws {
  /** A whole number from 0 on. */
  below(n: number): number;
  happens(share: number): boolean;
  pick<T>(list: readonly T[]): T;
}

/** The same names draw the same, whatever else is drawn: a request can be repeated without those before it. */
export function drawsFor(...names: readonly (string | number)[]): Draws {
  const random = chance(digest(names.join('/')));
  const below = (n: number) => Math.floor(random() * n);
  return {
    below,
    happens: (share) => random() < share,
    pick(list) {
      const picked = list[below(list.length)];
      if (picked === undefined) throw new Error('nothing to pick from');
      return picked;
    },
  };
}

/** FNV-1a, and the last steps of MurmurHash3: seeds that lie side by side begin alike. */
function digest(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
