/**
 * `npm run fuzz -- --cases 1000000 --seed 7`: the gateway's own response parser beside llhttp, over responses
 * that are most often bent somewhere. Ends with 1 and the first difference, as JSON, if there is one; the same
 * seed makes the same cases. Without a seed each run takes another, and says which. The tests run 10,000 cases.
 */
import { parseArgs } from 'node:util';
import { compareParsers, type Difference } from './compare.ts';

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
  },
});
const cases = Number(values.cases);
const seed = Number(values.seed);
if (!Number.isInteger(cases) || cases < 1 || !Number.isInteger(seed) || seed < 0) {
  console.error('--cases and --seed take whole numbers.');
  process.exit(2);
}

console.log(`${cases} cases of seed ${seed}`);
const { difference, whole } = compareParsers(cases, seed);
if (difference === null) {
  console.log(`no difference; ${whole} responses were whole to both`);
} else {
  console.log(report(difference));
  process.exit(1);
}

function report({ index, what, fuzzCase, ours, llhttp }: Difference): string {
  const { cuts } = fuzzCase;
  const wire = fuzzCase.wire.toString('latin1');
  return `case ${index}: ${what}\n${JSON.stringify({ wire, cuts, ours, llhttp }, null, 2)}`;
}
