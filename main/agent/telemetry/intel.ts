import { numberOf, textOf } from '../../platform/json.ts';
import { type GpuCollector, type GpuDevice, parsePciAddress, deviceOf } from './gpu-device.ts';
import { createPollCollector, type Poll } from './poll.ts';
import {
  type KernelFiles,
  mebibytes,
  SYSFS,
  type SysfsCard,
  sysfsCards,
  sysfsHwmon,
} from './sysfs.ts';
import { runFirst, type ToolEdges, toolProblem } from './tool-process.ts';

const INTEL_VENDOR_ID = '0x8086';
const XPU_SMI = ['xpu-smi'];
/** One call per round, because without a terminal the tool's loop mode ignores its options. */
const FIELDS = 'index,memory.total,memory.used,memory.free,utilization.gpu,temperature.gpu,name';
const ARGS = [`--query-gpu=${FIELDS}`, '--format=csv,noheader,nounits'];
const REMEDY = 'Run `xpu-smi discovery` by hand and check its output.';

/**
 * Reads Intel's discrete cards through xpu-smi (2.0 and later), otherwise from sysfs: systeminformation has no live
 * values for them, and mistakes lspci's memory region for their memory.
 */
export function createIntelCollector(edges: ToolEdges, files: KernelFiles): GpuCollector {
  async function poll(signal: AbortSignal): Promise<Poll> {
    const asked = await runFirst(XPU_SMI, ARGS, edges, signal);
    const read = asked.kind === 'output' ? parseXpuSmi(asked.text) : [];
    if (read.length > 0) return { kind: 'devices', devices: read, problems: [] };
    const devices = asked.kind === 'hung' ? [] : await readIntelSysfs(files);
    if (asked.kind === 'missing')
      return devices.length === 0 ? { kind: 'absent' } : { kind: 'devices', devices, problems: [] };
    const failed = toolProblem(['xpu-smi', ...ARGS], asked, REMEDY);
    if (devices.length === 0) return failed;
    return { kind: 'devices', devices, problems: [failed.problem] };
  }
  return createPollCollector(poll, { clock: edges.clock, source: SYSFS });
}

/** Reads the rows of `xpu-smi --query-gpu=…`; without root most of it is N/A. */
function parseXpuSmi(text: string): readonly GpuDevice[] {
  return text.split('\n').flatMap((line): GpuDevice[] => {
    const [index, total, used, free, util, temperature, ...name] = line
      .split(',')
      .map((value) => value.trim());
    if (!/^\d+$/.test(index ?? '') || name.length === 0) return [];
    return [
      deviceOf({
        key: `intel-${index}`,
        vendor: 'intel',
        name: textOf(name.join(', ')),
        memoryTotalMb: numberOf(total),
        memoryUsedMb: numberOf(used),
        memoryFreeMb: numberOf(free),
        utilGpu: numberOf(util),
        temperatureC: numberOf(temperature),
      }),
    ];
  });
}

/** An integrated GPU is always on bus 0; it shares the machine's memory and is no use for inference. */
async function readIntelSysfs(files: KernelFiles): Promise<readonly GpuDevice[]> {
  const cards = (await sysfsCards(files, INTEL_VENDOR_ID)).filter(
    ({ pciAddress }) => !/^[0-9a-f]+:00:/.test(pciAddress),
  );
  const devices: GpuDevice[] = [];
  for (const card of cards) {
    devices.push(
      deviceOf({
        key: card.pciAddress,
        vendor: 'intel',
        pciAddress: parsePciAddress(card.pciAddress),
        memoryTotalMb: mebibytes(await ownMemory(files, card)),
        ...(await sysfsHwmon(files, card)),
      }),
    );
  }
  return devices;
}

/** In bytes, from all tiles with the driver xe, or from one file with i915 (AlexsJones/llmfit#733); null if none. */
async function ownMemory(files: KernelFiles, { path }: SysfsCard): Promise<number | null> {
  const tiles = (await files.names(path)).filter((name) => /^tile\d+$/.test(name));
  let sum = 0;
  for (const tile of tiles)
    sum += (await files.number(`${path}/${tile}/physical_vram_size_bytes`)) ?? 0;
  return sum > 0 ? sum : files.number(path.replace(/device$/, 'lmem_total_bytes'));
}
