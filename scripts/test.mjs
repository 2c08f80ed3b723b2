// Runs the tests and ends with one line that says how many passed, failed and were skipped.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { NODE_24 } from './node-24.mjs';
import { ROOT, run } from './tree.mjs';

/** Their tests start pages and programs and wait for them half of the time; the tests of all others compute. */
const WAITING = ['window', 'e2e', 'clients', 'engine'];

/** Whole runs take two lanes side by side: what one leaves of the processors while it waits, the other takes. */
function lanesOf(args) {
  if (args.length > 0) return [{ name: 'tests', args }];
  const half = Math.ceil(availableParallelism() / 2);
  const lane = (name, workers, projects) => ({
    name,
    args: [`--maxWorkers=${workers}`, ...projects.map((project) => `--project=${project}`)],
  });
  return [
    lane('waiting', half + 2, WAITING),
    lane(
      'computing',
      half + 1,
      WAITING.map((project) => `!${project}`),
    ),
  ];
}

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const FAILURES = join(ROOT, 'scripts/failures.mjs');

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** @returns what Vitest's reports say of a lane; null where it did not come to its end */
async function reportOf({ name, args }, options) {
  const report = join(ROOT, `.cache/tests-${name}.json`);
  const failures = join(ROOT, `.cache/failures-${name}.json`);
  for (const file of [report, failures]) rmSync(file, { force: true });
  const reporters = ['default', 'json', FAILURES].map((reporter) => `--reporter=${reporter}`);
  const env = { ...process.env, ...options.env, INGLENOOK_TEST_FAILURES: failures };
  const command = [VITEST, 'run', ...reporters, `--outputFile.json=${report}`, ...args];
  const { code } = await run(NODE_24, command, { ...options, env });
  if (!existsSync(report) || !existsSync(failures)) return null;
  // A file that fails before its tests are known has no tests to count; the exit code holds it.
  return { ...readJson(report), failures: readJson(failures), isGreen: code === 0 };
}

const lanes = lanesOf(process.argv.slice(2));
// Two that draw on one terminal would draw over each other: through a pipe each writes whole lines.
const env = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
const options = lanes.length > 1 ? { stdio: ['inherit', 'pipe', 'inherit'], env } : {};
const reports = await Promise.all(lanes.map((lane) => reportOf(lane, options)));
const ended = reports.filter((report) => report !== null);
// At the very end, because of a long run many places show the last lines only.
for (const failure of ended.flatMap(({ failures }) => failures)) console.log(failure);
if (ended.length < lanes.length) {
  console.error('The tests did not run to their end: there is no report.');
  process.exit(1);
}
const sum = (count) => ended.reduce((all, report) => all + count(report), 0);
const passed = sum((report) => report.numPassedTests);
const failed = sum((report) => report.numFailedTests);
const skipped = sum((report) => report.numPendingTests + report.numTodoTests);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(ended.some(({ isGreen }) => !isGreen) || failed > 0 || passed === 0 ? 1 : 0);
