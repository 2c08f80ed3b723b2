// Runs the tests and ends with one line that says how many passed, failed and were skipped.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { NODE_24, ROOT, run } from './tree.mjs';

const REPORT = join(ROOT, '.cache/tests.json');

rmSync(REPORT, { force: true });
const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${REPORT}`];
const ended = await run(NODE_24, [vitest, 'run', ...reporters, ...process.argv.slice(2)]);
if (!existsSync(REPORT)) {
  console.error('The tests did not run to their end: there is no report.');
  process.exit(1);
}
const report = JSON.parse(readFileSync(REPORT, 'utf8'));
const { numPassedTests: passed, numFailedTests: failed } = report;
const skipped = report.numPendingTests + report.numTodoTests;
// A file that fails before its tests are known has no tests to count; the exit code holds it.
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(ended.code !== 0 || failed > 0 || passed === 0 ? 1 : 0);
