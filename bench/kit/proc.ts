import { readdirSync, readFileSync } from 'node:fs';

const NS_PER_MS = 1e6;

/** CPU time of the threads that a process has now, in milliseconds. */
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
