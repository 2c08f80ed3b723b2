import { createHash } from 'node:crypto';
import { chance } from './chance.ts';

/** Chance that depends on nothing but the names that it is drawn for. */
export interface Draws {
  /** A whole number from 0 on. */
  below(n: number): number;
  happens(share: number): boolean;
  pick<T>(list: readonly T[]): T;
}

/** The same names draw the same, whatever else is drawn: a request can be repeated without those before it. */
export function drawsFor(...names: readonly (string | number)[]): Draws {
  const random = chance(createHash('md5').update(names.join('/')).digest().readUInt32LE());
  const below = (n: number) => Math.floor(random() * n);
  return {
    below,
    happens: (share) => random() < share,
    pick: (list) => list[below(list.length)] as (typeof list)[number],
  };
}
