import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../../main/platform/process.ts';

const MEMORY = '/dev/shm';
/** Programs, packages and databases of a few tests at a time take a tenth of it. */
const ROOM_BYTES = 2 ** 30;
const NAME = /^inglenook-tests-(\d+)$/;

/**
 * Where the tests of this run keep their files: in memory where Linux has room for them, else in the usual place.
 * Creating, syncing and removing files on a disk takes up to a third of the processor time of some tests.
 */
export function directoryOfRun(): string {
  if (!hasRoom()) return tmpdir();
  for (const name of readdirSync(MEMORY)) {
    const pid = Number(NAME.exec(name)?.[1]);
    // A run that was killed could not.
    if (pid > 0 && !isAlive(pid)) remove(name);
  }
  const name = `inglenook-tests-${process.pid}`;
  mkdirSync(join(MEMORY, name), { recursive: true });
  process.once('exit', () => remove(name));
  return join(MEMORY, name);
}

/** What still ends may write there meanwhile, which must not fail the run: what is left, the next run removes. */
function remove(name: string): void {
  try {
    rmSync(join(MEMORY, name), { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  } catch (error) {
    console.warn(`${String(error)}; the next run removes it.`);
  }
}

/** Containers often have 64 MB there, and may start no programs from it. */
function hasRoom(): boolean {
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const options = mounts.findLast((line) => line.split(' ')[1] === MEMORY)?.split(' ')[3];
    const { bavail, bsize } = statfsSync(MEMORY);
    const isUsable = options?.startsWith('rw') === true && !options.split(',').includes('noexec');
    return isUsable && bavail * bsize >= ROOM_BYTES;
  } catch {
    return false;
  }
}
