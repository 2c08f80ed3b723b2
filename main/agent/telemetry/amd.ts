import { isObject, listOf, memberOf, numberOf, parseJson, textOf } from '../../platform/json.ts';
import { type GpuDevice, mergedDevice, parsePciAddress, deviceOf, summed } from './gpu-device.ts';
import { ABSENT, createPollCollector, type GpuCollector, type Poll, readingOf } from './poll.ts';
import {
  difference,
  type KernelFiles,
  mebibytes,
  SYSFS,
  type SysfsCard,
  sysfsCards,
  sysfsHwmon,
} from './sysfs.ts';
import { outputOf, runFirst, type ToolEdges, toolProblem } from './tool-process.ts';

/** ROCm installs it outside the search path. */
const AMD_SMI = ['amd-smi', '/opt/rocm/bin/amd-smi'];
const METRIC = ['metric', '--usage', '--temperature', '--power', '--mem-usage', '--json'];
const REMEDY =
  'Run `amd-smi metric` by hand; if it hangs as well, look for "amdgpu" in `dmesg` and restart this machine.';
/** Names do not change; a tool that could not report them is run again after this many rounds. */
const NAME_ROUNDS = 60;

/**
 * Reads AMD cards from the driver's files if there are any, otherwise through amd-smi: systeminformation has no
 * live values for them, and mistakes lspci's memory region for their memory. rocm-smi, its predecessor, reads the same files.
 */
export function createAmdCollector(edges: ToolEdges, files: KernelFiles): GpuCollector {
  /** Cards of which the tool knows the name, and nothing else. */
  let names: readonly GpuDevice[] = [];
  let roundsToNames = 0;

  async function learnNames(signal: AbortSignal): Promise<void> {
    roundsToNames -= 1;
    if (names.length > 0 || roundsToNames > 0) return;
    roundsToNames = NAME_ROUNDS;
    const text = await outputOf(AMD_SMI, ['static', '--asic', '--bus', '--json'], edges, signal);
    names = parseAmdSmiStatic(text ?? '');
  }

  async function readingWithNames(cards: readonly GpuDevice[], signal: AbortSignal): Promise<Poll> {
    if (cards.some(({ name }) => name === null)) await learnNames(signal);
    return readingOf(cards.map((card) => named(card, names)));
  }

  async function poll(signal: AbortSignal): Promise<Poll> {
    const read = await readAmdSysfs(files);
    if (read.length > 0) return readingWithNames(read, signal);
    const metric = await runFirst(AMD_SMI, METRIC, edges, signal);
    if (metric.kind === 'missing') return ABSENT;
    const cards = 'text' in metric ? parseAmdSmiMetric(metric.text) : null;
    if (cards === null) return toolProblem(['amd-smi', ...METRIC], metric, REMEDY);
    return readingWithNames(cards, signal);
  }

  return createPollCollector(SYSFS, edges.clock, poll);
}

function named(card: GpuDevice, names: readonly GpuDevice[]): GpuDevice {
  const told = names.find(({ key, pciAddress }) => card.key === pciAddress || card.key === key);
  if (told === undefined) return card;
  return mergedDevice(card, { ...told, key: told.pciAddress ?? card.key });
}

const AMD_VENDOR_ID = '0x1002';

/** Reads AMD cards from the files of the amdgpu driver (kernel documentation, "GPU Driver: amdgpu"). */
async function readAmdSysfs(files: KernelFiles): Promise<readonly GpuDevice[]> {
  const cards = await sysfsCards(files, AMD_VENDOR_ID);
  const devices: GpuDevice[] = [];
  // They are read one after another: a hung driver must block one thread of the pool, not all of them.
  for (const card of cards) devices.push(await readCard(files, card));
  return devices;
}

async function readCard(files: KernelFiles, card: SysfsCard): Promise<GpuDevice> {
  const own = await memoryIn(files, card, 'vram');
  const shared = await sharedMemory(files, card);
  const isUnified = (shared?.total ?? 0) > (own.total ?? 0);
  const parts = isUnified && shared !== null ? [own, shared] : [own];
  const total = summed(parts.map((part) => part.total));
  const used = summed(parts.map((part) => part.used));
  const name =
    (await files.text(`${card.path}/product_name`)) ||
    (shared === null ? null : await nameOfProcessor(files));
  return deviceOf({
    key: card.pciAddress,
    vendor: 'amd',
    pciAddress: parsePciAddress(card.pciAddress),
    name,
    memoryTotalMb: total,
    memoryUsedMb: used,
    memoryFreeMb: difference(total, used),
    utilGpu: await files.number(`${card.path}/gpu_busy_percent`),
    utilMemory: await files.number(`${card.path}/mem_busy_percent`),
    ...(await sysfsHwmon(files, card)),
    isUnified,
  });
}

interface CardMemory {
  readonly total: number | null;
  readonly used: number | null;
}

async function memoryIn(
  files: KernelFiles,
  { path }: SysfsCard,
  place: 'vram' | 'gtt',
): Promise<CardMemory> {
  const read = async (what: string) =>
    mebibytes(await files.number(`${path}/mem_info_${place}_${what}`));
  return { total: await read('total'), used: await read('used') };
}

/**
 * The part of the machine's memory that a GPU inside a processor may use, which on a Strix Halo is most of it
 * (gpustack/gpustack#4848). Null for a card, which reaches that memory only over the bus; of all GPUs, only those inside
 * a processor have the northbridge's voltage (kernel documentation, "GPU Power/Thermal Controls and Monitoring").
 */
async function sharedMemory(files: KernelFiles, card: SysfsCard): Promise<CardMemory | null> {
  const [sensors] = await files.names(`${card.path}/hwmon`);
  const names = await files.names(`${card.path}/hwmon/${sensors}`);
  return names.includes('in1_label') ? memoryIn(files, card, 'gtt') : null;
}

/** Of the GPU in it: `AMD RYZEN AI MAX+ 395 w/ Radeon 8060S`, where lspci names three (signerless/llm-checker#75). */
async function nameOfProcessor(files: KernelFiles): Promise<string | null> {
  const text = (await files.text('/proc/cpuinfo')) ?? '';
  return textOf(/^model name\s*:.* w\/ (Radeon.*)$/m.exec(text)?.[1]);
}

/** A line that begins with a bracket is JSON or a warning such as `[WARNING] …`. */
const MAX_STARTS = 4;

/**
 * It may print warnings around its JSON, which have brackets, too: `ERROR: GPU[0] : fclk clock is unsupported`
 * (ROCm/legacy-rocm-build#1453).
 */
function jsonIn(text: string): unknown {
  const end = [...text.matchAll(/[\]}](?=\s*$)/gm)].at(-1)?.index ?? -1;
  const starts = [...text.matchAll(/^[[{]/gm)].slice(0, MAX_STARTS);
  for (const { index } of starts) {
    const json = parseJson(text.slice(index, end + 1));
    if (json !== undefined) return json;
  }
  return undefined;
}

/** amd-smi prints an array, or since ROCm 7 an object that contains one. */
function amdSmiCards(text: string): readonly unknown[] {
  const json = jsonIn(text);
  return listOf(isObject(json) ? json['gpu_data'] : json);
}

/** Reads a value of amd-smi, with or without a unit. */
function quantity(value: unknown): number | null {
  return numberOf(memberOf(value, 'value') ?? value);
}

/** Reads `amd-smi metric --usage --temperature --power --mem-usage --json`; null for any other output. */
export function parseAmdSmiMetric(text: string): readonly GpuDevice[] | null {
  const cards = amdSmiCards(text).filter((card) => numberOf(memberOf(card, 'gpu')) !== null);
  if (cards.length === 0) return null;
  return cards.map((card) => {
    const total = quantity(memberOf(card, 'mem_usage', 'total_vram'));
    const used = quantity(memberOf(card, 'mem_usage', 'used_vram'));
    const temperatures = memberOf(card, 'temperature');
    return deviceOf({
      key: `amd-${numberOf(memberOf(card, 'gpu'))}`,
      vendor: 'amd',
      memoryTotalMb: total,
      memoryUsedMb: used,
      memoryFreeMb: quantity(memberOf(card, 'mem_usage', 'free_vram')) ?? difference(total, used),
      utilGpu: quantity(memberOf(card, 'usage', 'gfx_activity')),
      utilMemory: quantity(memberOf(card, 'usage', 'umc_activity')),
      temperatureC:
        quantity(memberOf(temperatures, 'edge')) ?? quantity(memberOf(temperatures, 'hotspot')),
      powerW: quantity(memberOf(card, 'power', 'socket_power')),
    });
  });
}

/** Reads `amd-smi static --asic --bus --json`. */
function parseAmdSmiStatic(text: string): readonly GpuDevice[] {
  return amdSmiCards(text).flatMap((card) => {
    const gpu = numberOf(memberOf(card, 'gpu'));
    const name = textOf(memberOf(card, 'asic', 'market_name'));
    if (gpu === null || name === null || name === 'N/A') return [];
    const pciAddress = textOf(memberOf(card, 'bus', 'bdf'))?.toLowerCase() ?? null;
    return [deviceOf({ key: `amd-${gpu}`, vendor: 'amd', pciAddress, name })];
  });
}

/**
 * The marketing name. A tool prints a PCI id if its database does not know the card, and a code name in front if only
 * that database does: `Arcturus GL-XL [Instinct MI100]`. Several names in brackets are kept as they are.
 */
export function marketedName(value: unknown): string | null {
  const text = textOf(value);
  if (text === null || /^((0x|Device )[\da-f]+|N\/A)$/i.test(text)) return null;
  return /\[([^\]/]+)\]$/.exec(text)?.[1] ?? text;
}
