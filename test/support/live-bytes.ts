import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The memory of what is alive: tests in this process leave garbage. */
export function liveBytes(): number {
  collectGarbage();
  // Buffers that the first one has found dead count until the next one.
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
