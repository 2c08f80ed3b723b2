/**
 * `npm run attack -- --seed 7`: the real program on loopback under each of the attacks, one after the other. Ends
 * with 1 if one was not withstood. The tests run a short form. Takes about two minutes.
 */
import { parseArgs } from 'node:util';
import { openArena } from './arena.ts';
import { assault } from './assault.ts';
import { ATTACKS } from './attacks.ts';
import { chance } from '../support/chance.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
    only: { type: 'string', default: '' },
  },
});
const seed = Number(values.seed);
if (!Number.isInteger(seed) || seed < 0) {
  console.error('--seed takes a whole number.');
  process.exit(2);
}

/** Bodies in flight are bounded by 256 MB, beside the program itself. */
const BOUNDS = { rssMb: 500, healthMs: 500 };
const LIMIT_MS = 25_000;

const arena = await openArena();
console.log(`seed ${seed}; ${arena.rssMb()} MB before`);
console.log('  RSS MB  /healthz ms  attack');
const random = chance(seed);
let withstood = true;
for (const attack of ATTACKS.filter(({ name }) => name.includes(values.only))) {
  const { name, counts, rssMb, worstHealthMs, findings } = await assault(attack, arena, random, {
    share: 1,
    limitMs: LIMIT_MS,
    bounds: BOUNDS,
  });
  const statuses = Object.entries(counts).map(([status, count]) => `${count} × ${status}`);
  const verdict = findings.length === 0 ? 'withstood' : `NOT WITHSTOOD: ${findings.join(', ')}`;
  const figures = `${String(rssMb).padStart(8)}  ${String(worstHealthMs).padStart(11)}`;
  console.log(`${figures}  ${name}: ${statuses.join(', ')}; ${verdict}`);
  withstood &&= findings.length === 0;
}
await arena.close();
process.exit(withstood ? 0 : 1);
