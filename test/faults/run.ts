/**
 * `npm run faults -- --histories 200 --seed 7`: three gateways on a real PostgreSQL, under load, in random histories of
 * gateways and databases that are killed or stopped, and of connections that are cut or go silent. Ends with 1 if
 * something acknowledged was lost, a caller noticed, or a machine was verified by two at once. A history takes about
 * 10 s; `--minutes` ends it earlier. The tests play a few.
 */
import { parseArgs } from 'node:util';
import { chance } from '../support/chance.ts';
import { POSTGRES_SKIPPED } from '../support/postgres-server.ts';
import { type FaultArena, openArena } from './arena.ts';
import { historyText, randomHistory } from './history.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
    histories: { type: 'string', default: '200' },
    minutes: { type: 'string', default: '90' },
  },
});
const [seed, histories, minutes] = [values.seed, values.histories, values.minutes].map(Number);

async function playAll(arena: FaultArena, isOver: () => boolean): Promise<boolean> {
  const random = chance(seed ?? 0);
  let played = 0;
  let failed = 0;
  while (played < (histories ?? 0) && !isOver()) {
    const history = randomHistory(random, 3);
    const begunAt = performance.now();
    const findings = await arena.play(history);
    const seconds = ((performance.now() - begunAt) / 1000).toFixed(1);
    played += 1;
    console.log(`${played} (${seconds} s): ${historyText(history)}`);
    for (const finding of findings.slice(0, 10)) console.log(`  NOT WELL: ${finding}`);
    if (findings.length > 0) failed += 1;
  }
  console.log(JSON.stringify(arena.counts()));
  console.log(`${played - failed} histories withstood, ${failed} not`);
  return failed === 0;
}

async function main(): Promise<number> {
  if (![seed, histories, minutes].every((n) => Number.isInteger(n) && Number(n) >= 0)) {
    console.error('--seed, --histories and --minutes take whole numbers.');
    return 2;
  }
  if (POSTGRES_SKIPPED !== null) {
    console.log(POSTGRES_SKIPPED);
    return 0;
  }
  console.log(`seed ${seed}; ${histories} histories`);
  let isStopped = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => (isStopped = true));
  const endAt = performance.now() + (minutes ?? 0) * 60_000;
  const arena = await openArena(seed ?? 0);
  try {
    return (await playAll(arena, () => isStopped || performance.now() > endAt)) ? 0 : 1;
  } finally {
    await arena.close();
  }
}

process.exit(await main());
