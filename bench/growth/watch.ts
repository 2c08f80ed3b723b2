import { rssMb, threadsCpuMs } from '../kit/proc.ts';
import { askProbe, type Probed, type Program } from '../kit/programs.ts';
import type { Point } from './axis.ts';

const LOOK_MS = 50;

/** Memory, event loop and CPU time of a program while `work` is under way. */
export async function watch<T>(
  program: Probed<Program>,
  work: Promise<T>,
): Promise<{
  readonly result: T;
  readonly cpuMs: number;
  readonly ms: number;
  readonly seen: Pick<Point, 'rssMb' | 'lateP99Ms' | 'lateMostMs'>;
}> {
  const { pid } = program.child;
  await askProbe(program);
  const [cpuBefore, begunAt] = [threadsCpuMs(pid), performance.now()];
  let most = 0;
  const looking = setInterval(() => (most = Math.max(most, rssMb(pid))), LOOK_MS);
  try {
    const result = await work;
    const [cpuMs, ms] = [threadsCpuMs(pid) - cpuBefore, performance.now() - begunAt];
    const { p99Ms, mostMs } = await askProbe(program);
    most = Math.max(most, rssMb(pid));
    return { result, cpuMs, ms, seen: { rssMb: most, lateP99Ms: p99Ms, lateMostMs: mostMs } };
  } finally {
    clearInterval(looking);
  }
}
