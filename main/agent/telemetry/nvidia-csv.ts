import { numberOf } from '../json.ts';
import type { GpuDevice } from './reading.ts';

/** What every driver since 2013 can be asked; the name comes last because nothing forbids a comma in it. */
const BASIC_FIELDS = [
  'index',
  'uuid',
  'memory.total',
  'memory.used',
  'memory.free',
  'utilization.gpu',
  'utilization.memory',
  'temperature.gpu',
] as const;

/** `compute_cap` came with driver 510, `mig.mode.current` with 450. */
const FULL_FIELDS = [...BASIC_FIELDS, 'mig.mode.current', 'compute_cap'] as const;

/** Field lists for `--query-gpu`, the fullest first; the parser tells them apart by their length. */
export const NVIDIA_QUERIES = [
  [...FULL_FIELDS, 'name'].join(','),
  [...BASIC_FIELDS, 'name'].join(','),
] as const;

type Field = (typeof FULL_FIELDS)[number];

/** Chips without memory of their own answer N/A: GB10 (DGX Spark), Jetson's Orin and Thor. */
const UNIFIED_NAME = /\b(GB10|Orin|Thor|Tegra)\b/i;
/** NVML's words for a card that has fallen off the bus or needs a reset. */
const FAULT = /GPU is lost|requires reset|Unknown Error/i;
const UUID = /^(GPU|MIG)-[\w-]{4,64}$/;

/** Reads one row of `nvidia-smi --query-gpu=… --format=csv,noheader,nounits`; null when it is none. */
export function parseNvidiaRow(line: string): GpuDevice | null {
  const values = line.split(',').map((value) => value.trim());
  const fields = fieldsOf(values);
  if (fields === null) return null;
  const value = (field: Field) => values[fields.indexOf(field)] ?? '';
  const number = (field: Field) => numberOf(value(field));
  const index = number('index');
  if (index === null || !Number.isInteger(index)) return null;
  const name = knownText(values.slice(fields.length).join(', '));
  const uuid = value('uuid');
  const memoryTotalMb = number('memory.total');
  const isPartitioned = value('mig.mode.current') === 'Enabled';
  return {
    key: UUID.test(uuid) ? uuid : `nvidia-${index}`,
    vendor: 'nvidia',
    name,
    memoryTotalMb,
    memoryUsedMb: number('memory.used'),
    memoryFreeMb: number('memory.free'),
    utilGpu: number('utilization.gpu'),
    utilMemory: number('utilization.memory'),
    temperatureC: number('temperature.gpu'),
    gpuCores: null,
    computeCapability: knownText(value('compute_cap')),
    isUnified: memoryTotalMb === null && !isPartitioned && UNIFIED_NAME.test(name ?? ''),
    fault: faultOf(values),
  };
}

/** Which list a row answers: the full one has a MIG mode in its place. */
function fieldsOf(values: readonly string[]): readonly Field[] | null {
  const mig = values[FULL_FIELDS.indexOf('mig.mode.current')] ?? '';
  const isFull = /^(Enabled|Disabled)$/.test(mig) || mig.startsWith('[') || mig === 'N/A';
  if (isFull && values.length > FULL_FIELDS.length) return FULL_FIELDS;
  return values.length > BASIC_FIELDS.length ? BASIC_FIELDS : null;
}

/** A card that is well says `[N/A]` where it cannot tell; a lost one says so in most fields. */
function faultOf(values: readonly string[]): string | null {
  const words = values.filter((value) => FAULT.test(value));
  return words.length * 2 > values.length ? (words[0]?.replaceAll(/[[\]]/g, '') ?? null) : null;
}

function knownText(value: string): string | null {
  return value === '' || value === 'N/A' || value.startsWith('[') ? null : value;
}
