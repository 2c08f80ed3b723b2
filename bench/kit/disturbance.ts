import { availableParallelism } from 'node:os';
import { cpuMs, machineCpuMs } from './proc.ts';

/**
 * Begins to watch how much of the machine is used by others than the processes `pids`; the returned
 * function gives their share since then, from 0 to 1. With much of it the figures wobble.
 */
export function watchOthers(pids: readonly number[]): () => number {
  const othersMs = () => machineCpuMs() - pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
  const begunAt = performance.now();
  const before = othersMs();
  return () => {
    const capacityMs = (performance.now() - begunAt) * availableParallelism();
    return Math.max(0, othersMs() - before) / capacityMs;
  };
}
