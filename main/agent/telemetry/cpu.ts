import type { KernelFiles } from './files.ts';

/** Processor cores as the record counts them: threads of each kind. */
export interface CpuCores {
  readonly total: number;
  readonly performance: number;
  readonly efficiency: number;
}

/** Cores of a processor of which only the number is known: they are all alike. */
function alike(total: number): CpuCores {
  return { total, performance: total, efficiency: 0 };
}

/**
 * Cores by kind, from the counters that Linux has for each kind of a hybrid processor; null where there
 * are none. systeminformation derives them from threads per core, which fails without hyper-threading.
 */
export async function hybridCores(files: KernelFiles): Promise<CpuCores | null> {
  const performance = countOf(await files.text('/sys/devices/cpu_core/cpus'));
  const efficiency = countOf(await files.text('/sys/devices/cpu_atom/cpus'));
  if (performance === 0 || efficiency === 0) return null;
  return { total: performance + efficiency, performance, efficiency };
}

/** Cores from two counts of systeminformation, where they add up. */
export function countedCores(total: number, performance: unknown, efficiency: unknown): CpuCores {
  if (typeof performance !== 'number' || typeof efficiency !== 'number') return alike(total);
  return performance + efficiency === total ? { total, performance, efficiency } : alike(total);
}

/** How many numbers a list such as `0-7,16` names. */
function countOf(list: string | null): number {
  if (list === null || !/^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(list)) return 0;
  return list.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return sum + Math.max(0, last - first + 1);
  }, 0);
}
