// `npm run chaos -- --seed 7 --requests 10000`: callers of three protocols, and three upstreams that fail in all ways
// for a while. Ends with 1 if an answer was neither right nor visibly broken off, or if anything was left of a request.
import { parseArgs } from 'node:util';
import { playChaos } from './arena.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
    requests: { type: 'string', default: '10000' },
  },
});
const { counts, found } = await playChaos(Number(values.seed), Number(values.requests));
for (const finding of found.slice(0, 10)) console.log(`WRONG: ${finding}`);
const ends = Object.entries(counts).map(([end, count]) => `${count} ${end}`);
console.log(`seed ${values.seed}: ${ends.join(', ')}; ${found.length} wrong`);
process.exit(found.length === 0 ? 0 : 1);
