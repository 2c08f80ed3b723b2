/**
 * `npm run chaos -- --seed 7 --requests 10000`: callers of three protocols, and three upstreams that fail in all ways for
 * a while. Ends with 1 if an answer was neither right nor visibly broken off, or if something of a request was left.
 * `--only 123` plays that one again and shows all of it.
 * 10,000 requests take a minute or two. The tests play a few hundred.
 */
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type ChaosArena, openArena } from './arena.ts';
import { outcomeText, playAll, ROUND_REQUESTS } from './chaos.ts';
import { reportOf } from './report.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
    requests: { type: 'string', default: '10000' },
    only: { type: 'string' },
  },
});
const [seed = 0, requests = 0, only = 0] = [values.seed, values.requests, values.only ?? 0].map(
  Number,
);
/** Others are only counted. */
const SHOWN = 10;

async function playOne(arena: ChaosArena): Promise<boolean> {
  const played = await arena.play(only);
  console.log(reportOf(played, true));
  return played.findings.length === 0;
}

async function playMany(arena: ChaosArena): Promise<boolean> {
  let isStopped = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => (isStopped = true));
  let shown = 0;
  const heapBytes: number[] = [];
  const outcome = await playAll(arena, {
    requests,
    onWrong(played) {
      shown += 1;
      if (shown > SHOWN) return;
      const replay = `npm run chaos -- --seed ${seed} --only ${played.request.n}`;
      console.log(`${reportOf(played, false)}\n  again: ${replay}\n`);
    },
    onRest() {
      collect();
      heapBytes.push(process.memoryUsage().heapUsed);
    },
    isOver: () => isStopped,
  });
  const found = [...outcome.left, ...heapFindings(heapBytes)];
  for (const finding of found) console.log(`LEFT: ${finding}`);
  console.log(`seed ${seed}: ${outcomeText(outcome)}`);
  return outcome.wrong === 0 && found.length === 0;
}

/** By then compiled code and the rows that are kept have their size. */
const LEVEL_ROUND = 2;
/** A row, an answer or a closure that stays with each request takes more; an hour of the history a part of it. */
const BYTES_PER_REQUEST = 500;

function heapFindings(heapBytes: readonly number[]): string[] {
  const rounds = heapBytes.length - 1 - LEVEL_ROUND;
  const [level = 0, last = 0] = [heapBytes[LEVEL_ROUND], heapBytes.at(-1)];
  const perRequest = Math.round((last - level) / (rounds * ROUND_REQUESTS));
  // Over fewer, noise is more than what is looked for.
  return rounds >= 3 && perRequest > BYTES_PER_REQUEST ? [`${perRequest} bytes a request`] : [];
}

async function main(): Promise<number> {
  if (![seed, requests, only].every((n) => Number.isInteger(n) && n >= 0)) {
    console.error('--seed, --requests and --only take whole numbers.');
    return 2;
  }
  const warnings: string[] = [];
  process.on('warning', ({ message }) => warnings.push(message));
  const arena = await openArena(seed);
  const isRight = await (values.only === undefined ? playMany(arena) : playOne(arena));
  const left = [...(await arena.close()), ...warnings];
  for (const finding of left) console.log(`LEFT: ${finding}`);
  return isRight && left.length === 0 ? 0 : 1;
}

process.exit(await main());
