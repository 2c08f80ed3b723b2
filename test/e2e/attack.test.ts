import { expect, test } from 'vitest';
import { openArena } from '../attack/arena.ts';
import { assault } from '../attack/assault.ts';
import { ATTACKS } from '../attack/attacks.ts';
import { chance } from '../support/chance.ts';

/** `npm run attack` is the whole of it. */
const SHORT = { share: 0.2, limitMs: 1000 };
/** Under a busy machine the wait for `/healthz` says little; seconds would still be a fault. */
const BOUNDS = { rssMb: 500, healthMs: 10_000 };

test('the program holds against a short form of each attack from outside', async () => {
  const arena = await openArena();
  try {
    const random = chance(1);
    for (const attack of ATTACKS) {
      const { name, findings } = await assault(attack, arena, random, { ...SHORT, bounds: BOUNDS });
      expect([name, ...findings]).toEqual([name]);
    }
  } finally {
    await arena.close();
  }
});
