import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Children } from './children.ts';

/** Linux gives process times to user space in hundredths of a second, whatever its own tick is. */
const TICKS_PER_MS = 100 / 1000;

/** CPU time of a process so far, user and system, all threads and its ended children, in milliseconds. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name in parentheses may hold blanks; the state is the first field behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return ticks / TICKS_PER_MS;
}

const NS_PER_MS = 1e6;

/** CPU time of the threads that a process has now, in milliseconds: finer than `cpuMs`, without what has ended. */
export function threadsCpuMs(pid: number): number {
  const folder = `/proc/${pid}/task`;
  const ofThread = (id: string) =>
    Number(readFileSync(`${folder}/${id}/schedstat`, 'latin1').split(' ')[0]);
  return readdirSync(folder).reduce((sum, id) => sum + ofThread(id), 0) / NS_PER_MS;
}

/** Resident memory of a process in MB. */
export function rssMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? NaN) / 1024;
}

/** CPU time that all programs of this machine have used since it started, in milliseconds. */
function machineCpuMs(): number {
  const line = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0] ?? '';
  // "cpu", then user, nice, system, idle, iowait, irq, softirq; what a host stole is nobody's here.
  const [user, nice, system, , , irq, softirq] = line.split(/ +/).slice(1).map(Number);
  const ticks = [user, nice, system, irq, softirq].reduce<number>((sum, n) => sum + (n ?? NaN), 0);
  return ticks / TICKS_PER_MS;
}

/**
 * Begins to watch how much of the machine is used by others than the bench and its children; the returned function
 * gives their share since then, from 0 to 1. With much of it the figures wobble.
 */
export function watchOthers(children: Children): () => number {
  // Children that have ended are in the time of this process.
  const ownMs = () => [process.pid, ...children.pids()].reduce((sum, pid) => sum + cpuMs(pid), 0);
  const othersMs = () => machineCpuMs() - ownMs();
  const [begunAt, before] = [performance.now(), othersMs()];
  return () => {
    const capacityMs = (performance.now() - begunAt) * availableParallelism();
    return Math.max(0, othersMs() - before) / capacityMs;
  };
}
