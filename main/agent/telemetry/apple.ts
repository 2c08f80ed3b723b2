import { numberOf, textOf } from '../../platform/json.ts';
import { type GpuDevice, deviceOf } from './gpu-device.ts';
import { ABSENT, createPollCollector, type GpuCollector, type Poll, readingOf } from './poll.ts';
import { mebibytes } from './sysfs.ts';
import { runFirst, type ToolEdges, toolProblem } from './tool-process.ts';

export const IOREG = ['ioreg', '/usr/sbin/ioreg'];
/** Prints the objects of a class. */
export const ioregArgs = (name: string) => ['-r', '-d', '1', '-w', '0', '-c', name];
const ARGS = ioregArgs('IOAccelerator');
const REMEDY = 'Run `ioreg -r -c IOAccelerator` by hand and check its output.';

/**
 * Reads the GPU of an Apple chip, which uses the machine's memory: systeminformation knows its name and cores, but no
 * live values.
 */
export function createAppleCollector(edges: ToolEdges): GpuCollector {
  async function poll(signal: AbortSignal): Promise<Poll> {
    const asked = await runFirst(IOREG, ARGS, edges, signal);
    if (asked.kind === 'missing') return ABSENT;
    const device = asked.kind === 'output' ? parseIoreg(asked.text) : null;
    return device === null ? toolProblem(['ioreg', ...ARGS], asked, REMEDY) : readingOf([device]);
  }

  return createPollCollector('ioreg', edges.clock, poll);
}

/** Reads `ioreg -r -c IOAccelerator`; null without an Apple GPU. */
export function parseIoreg(text: string): GpuDevice | null {
  const block = text.split(/\n(?=\+-o )/).find((each) => /AGXAccelerator|"Apple M\d/.test(each));
  if (block === undefined) return null;
  const statistics = /"PerformanceStatistics" = \{([^}]*)\}/.exec(block)?.[1] ?? '';
  const statistic = (name: string) =>
    numberOf(new RegExp(`"${name}"=(\\d+)`).exec(statistics)?.[1] ?? null);
  return deviceOf({
    key: 'apple-0',
    vendor: 'apple',
    name: textOf(/"model" = "([^"]*)"/.exec(block)?.[1]),
    memoryUsedMb: mebibytes(statistic('In use system memory')),
    utilGpu: statistic('Device Utilization %'),
    gpuCores: numberOf(/"gpu-core-count" = (\d+)/.exec(block)?.[1] ?? null),
    isUnified: true,
  });
}
