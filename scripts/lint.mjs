// `npm run lint:all`: two checks at a time, because half of them use one processor only.
import { NODE_24 } from './node-24.mjs';
import { run } from './tree.mjs';

const LANES = [
  ['format:check', 'unused', 'workflows'],
  ['lint', 'types'],
];

/** @returns {Promise<readonly string[]>} those of the checks, run one after the other, that failed */
async function failuresOf(checks) {
  const failed = [];
  for (const check of checks) {
    const { code } = await run(NODE_24, ['--run', check]);
    if (code !== 0) failed.push(check);
  }
  return failed;
}

const failed = (await Promise.all(LANES.map(failuresOf))).flat();
for (const check of failed) console.error(`"npm run ${check}" failed; what it says stands above.`);
process.exitCode = failed.length === 0 ? 0 : 1;
