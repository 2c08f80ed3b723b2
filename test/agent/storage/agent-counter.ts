import { writeSync } from 'node:fs';
import { createSequence } from '../../../main/agent/storage.ts';
import { silentLog } from '../../../main/platform/log.ts';

/* Prints one number of an agent's sequence after the other for as long as it lives. */

const never = new Int32Array(new SharedArrayBuffer(4));

/**
 * Prints a line and returns once the pipe has it: a reader gets it whatever happens to this process
 * next. A pipe that is full, because its reader has no processor, is waited for.
 */
function print(line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  for (let sent = 0; sent < bytes.length;) {
    try {
      sent += writeSync(1, bytes, sent);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(never, 0, 0, 1);
    }
  }
}

const sequence = createSequence(process.argv[2] ?? '', silentLog);
for (;;) print(`${await sequence.next()}`);
