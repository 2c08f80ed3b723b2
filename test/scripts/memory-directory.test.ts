import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { expect, test } from 'vitest';

const MODULE = join(import.meta.dirname, '../support/memory-directory.ts');

/** The directory of a run of its own, which then ends as `end` says. */
function runThat(end: string): string {
  const program = `import { directoryOfRun } from ${JSON.stringify(MODULE)};
    process.stdout.write(directoryOfRun(), () => ${end});`;
  const args = ['--input-type=module', '--eval', program];
  return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout;
}

test('the files of a test run go with it, and those of a killed run with the next', () => {
  const directories = [runThat("process.kill(process.pid, 'SIGKILL')"), runThat('undefined')];
  expect(directories.every(isAbsolute)).toBe(true);
  // Where memory has no room the files lie where all do.
  expect(directories.filter((each) => each !== tmpdir() && existsSync(each))).toEqual([]);
});
