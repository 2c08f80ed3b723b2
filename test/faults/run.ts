/**
 * `npm run faults -- --histories 200 --seed 7`: three gateways on a real PostgreSQL, under load, in random histories of
 * gateways and databases that are killed or stopped, and of connections that are cut or go silent. Ends with 1 if
 * something acknowledged was lost, a caller noticed, or a machine was verified by two at once. A history takes about
 * 8 s; the tests play a few.
 */
import { parseArgs } from 'node:util';
import { chance } from '../support/chance.ts';
import { POSTGRES_SKIPPED } from '../support/postgres-server.ts';
import { openArena } from './arena.ts';
import { historyText, randomHistory } from './history.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
    histories: { type: 'string', default: '200' },
  },
});
const [seed, histories] = [Number(values.seed), Number(values.histories)];
if (!Number.isInteger(seed) || !Number.isInteger(histories) || seed < 0) {
  console.error('--seed and --histories take whole numbers.');
  process.exit(2);
}
if (POSTGRES_SKIPPED !== null) {
  console.log(POSTGRES_SKIPPED);
  process.exit(0);
}

console.log(`seed ${seed}; ${histories} histories`);
const arena = await openArena(seed);
let failed = 0;
for (let at = 0; at < histories; at += 1) {
  const history = randomHistory(chance(seed + at), 3);
  const begunAt = performance.now();
  const findings = await arena.play(history);
  const seconds = ((performance.now() - begunAt) / 1000).toFixed(1);
  console.log(`${at} (${seconds} s, seed ${seed + at}): ${historyText(history)}`);
  for (const finding of findings.slice(0, 10)) console.log(`  NOT WELL: ${finding}`);
  if (findings.length > 0) failed += 1;
}
console.log(JSON.stringify(arena.counts()));
console.log(`${histories - failed} histories withstood, ${failed} not`);
await arena.close();
process.exit(failed === 0 ? 0 : 1);
