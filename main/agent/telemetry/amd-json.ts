import { isObject } from '#shared/objects.ts';
import { listOf, memberOf, numberOf, parseJson, textOf } from '../../platform/json.ts';
import { type GpuDevice, parsePciAddress, readBy } from './gpu-device.ts';
import { difference, mebibytes } from './sysfs.ts';

/** Both tools may print warnings before their JSON. */
function jsonIn(text: string): unknown {
  const start = text.search(/[[{]/);
  return start < 0 ? undefined : parseJson(text.slice(start));
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
    return readBy('amd-smi', {
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

/** A card's name, as a tool reports it. */
export interface AmdName {
  /** `amd-<position>`, as in the metrics of the same tool. */
  readonly key: string;
  /** Lower-case PCI address; null if it is not reported. */
  readonly pciAddress: string | null;
  readonly name: string;
}

/** Reads `amd-smi static --asic --bus --json`. */
export function parseAmdSmiStatic(text: string): readonly AmdName[] {
  return amdSmiCards(text).flatMap((card) => {
    const gpu = numberOf(memberOf(card, 'gpu'));
    const name = textOf(memberOf(card, 'asic', 'market_name'));
    if (gpu === null || name === null || name === 'N/A') return [];
    const pciAddress = textOf(memberOf(card, 'bus', 'bdf'))?.toLowerCase() ?? null;
    return [{ key: `amd-${gpu}`, pciAddress, name }];
  });
}

/** The options for everything that `parseRocmSmi` reads. */
export const ROCM_SMI_ARGS = [
  '--showuse',
  '--showmemuse',
  '--showmeminfo',
  'vram',
  '--showtemp',
  '--showpower',
  '--showproductname',
  '--showbus',
  '--json',
] as const;

/**
 * Reads `rocm-smi … --json`, whose field names differ in case between versions; null if the output is something else.
 */
export function parseRocmSmi(text: string): readonly GpuDevice[] | null {
  const json = jsonIn(text);
  if (!isObject(json)) return null;
  const cards = Object.entries(json).filter(([name]) => /^card\d+$/.test(name));
  if (cards.length === 0) return null;
  return cards.map(([id, card]) => {
    const field = (...names: readonly string[]) => fieldOf(card, names);
    const total = mebibytes(numberOf(field('vram total memory (b)')));
    const used = mebibytes(numberOf(field('vram total used memory (b)')));
    const address = parsePciAddress(textOf(field('pci bus')));
    return readBy('rocm-smi', {
      key: address ?? id.replace('card', 'amd-'),
      vendor: 'amd',
      pciAddress: address,
      name: marketedName(field('card series')) ?? marketedName(field('card model')),
      memoryTotalMb: total,
      memoryUsedMb: used,
      memoryFreeMb: difference(total, used),
      utilGpu: numberOf(field('gpu use (%)')),
      // The second name is used up to ROCm 6.0.
      utilMemory: numberOf(field('gpu memory read/write activity (%)', 'gpu memory use (%)')),
      temperatureC: numberOf(
        field('temperature (sensor edge) (c)', 'temperature (sensor junction) (c)'),
      ),
      powerW: numberOf(
        field('average graphics package power (w)', 'current socket graphics package power (w)'),
      ),
    });
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

function fieldOf(card: unknown, names: readonly string[]): unknown {
  if (!isObject(card)) return undefined;
  const fields = Object.entries(card);
  for (const wanted of names) {
    const found = fields.find(([name]) => name.toLowerCase() === wanted);
    if (found !== undefined) return found[1];
  }
  return undefined;
}
