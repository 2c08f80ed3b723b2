import { expect, test } from 'vitest';
import { spawnProgram } from '../support/process.ts';

/** Keeps a hundred thousand objects alive of five million at most, a few in each turn as a relay does, and says how large the nursery became. */
const BUSY = `
import { getHeapSpaceStatistics } from 'node:v8';
import { tuneGarbageCollector } from './main/platform/process.ts';
if (process.argv.includes('tuned')) tuneGarbageCollector();
const size = () => getHeapSpaceStatistics().find((each) => each.space_name === 'new_space').space_size;
const kept = [];
let largest = 0;
for (let made = 0; made < 5_000_000 && largest < 48 * 2 ** 20; made += 1) {
  kept[made % 100_000] = { made, also: [made] };
  if (made % 5_000 > 0) continue;
  largest = Math.max(largest, size());
  await new Promise((resolve) => setImmediate(resolve));
}
console.log(Math.round(largest / 2 ** 20));
`;

test('the nursery of the garbage collector grows to 16 MB, of which V8 keeps two', async () => {
  const run = async (...args: readonly string[]) => {
    const node = [process.execPath, '--input-type=module-typescript', '-e', BUSY, ...args];
    const { stdout, stderr } = await spawnProgram(node, process.env).ended;
    expect(stderr).toBe('');
    return Number(stdout);
  };
  // Twice 16 MB, and the pages that V8 adds where survivors do not fit; a growth too many would be 64 MB.
  expect(await run('tuned')).toBeLessThan(48);
  // How soon V8 lets it grow depends on what else the machine does.
  await expect.poll(() => run('as', 'it', 'is')).toBeGreaterThan(48);
});
