import { writeSync } from 'node:fs';

const never = new Int32Array(new SharedArrayBuffer(4));

/**
 * Prints a line and returns once the pipe has it: a reader gets it whatever happens to this process
 * next. A pipe that is full, because its reader has no processor, is waited for.
 */
export function print(line: string): void {
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
