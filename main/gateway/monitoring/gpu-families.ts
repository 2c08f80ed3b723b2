import type { GpuFigures } from '#shared/agent.ts';
import { type Family, family } from './exposition.ts';

const BYTES_PER_MB = 2 ** 20;

/** This machine's GPUs, at most 64; those of other machines are in `/api/v1/providers`. */
export function gpuFamilies(gpus: readonly GpuFigures[]): Family[] {
  const each = (name: string, help: string, of: (gpu: GpuFigures) => number | null, unit = 1) =>
    family(
      'gauge',
      `switchyard_gpu_${name}`,
      `${help}, of this machine's GPUs.`,
      gpus.map((gpu) => {
        const value = of(gpu);
        const labels = { index: String(gpu.index), name: gpu.name };
        return [labels, value === null ? null : value * unit];
      }),
    );
  return [
    each('utilization_ratio', 'Share of the time in which it was busy', (at) => at.util_gpu, 0.01),
    each('memory_used_bytes', 'Memory in use', (at) => at.memory_used_mb, BYTES_PER_MB),
    each('memory_total_bytes', 'Memory', (at) => at.memory_total_mb, BYTES_PER_MB),
    each('temperature_celsius', 'Temperature', (at) => at.temperature_c),
    each('power_watts', 'Power drawn', (at) => at.power_w),
  ];
}
