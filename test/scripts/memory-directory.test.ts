import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MODULE = join(import.meta.dirname, '../support/memory-directory.ts');

/** The directory of a run of its own, which then ends as `end` says. */
function runThat(end: string): string {
  const program = `import { directoryOfRun } from ${JSON.stringify(MODULE)};
    process.stdout.write(directoryOfRun(), () => ${end});`;
  const args = ['--input-type=module', '--eval', program];
  return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout;
}

const inMemory = (directory: string) => directory.startsWith('/dev/shm/');

test('the files of a run go with it, and those of one that was killed with the next', () => {
  const killed = runThat("process.kill(process.pid, 'SIGKILL')");
  // Where memory has no room the files lie where all do.
  if (!inMemory(killed)) return expect(killed).toBe(tmpdir());
  const ended = runThat('undefined');
  expect(inMemory(ended)).toBe(true);
  expect([existsSync(killed), existsSync(ended)]).toEqual([false, false]);
});
