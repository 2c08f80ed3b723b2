import type { Provider } from '#shared/provider.ts';
import { UNKNOWN } from './provider-facts.ts';
import { t } from '../../text/t.ts';

const words = t.providers.gpu;

export type GpuDevice = Provider['gpu']['devices'][number];

/** A figure with its share of the maximum. */
export interface Meter {
  readonly label: string;
  readonly text: string;
  /** 0 to 1; null if unknown. */
  readonly share: number | null;
}

export function metersOf(device: GpuDevice): readonly Meter[] {
  return [
    memoryMeter(device),
    percentMeter(words.busy, device.util_gpu),
    temperatureMeter(device.temperature_c),
  ];
}

function memoryMeter({ memory_used_mb: used, memory_total_mb: total }: GpuDevice): Meter {
  const label = words.memory;
  if (total === null || total === 0) {
    return { label, text: used === null ? UNKNOWN : words.used(gib(used)), share: null };
  }
  if (used === null) return { label, text: words.useUnknown(gib(total)), share: null };
  return { label, text: words.usedOf(gib(used), gib(total)), share: Math.min(1, used / total) };
}

function percentMeter(label: string, percent: number | null): Meter {
  if (percent === null) return { label, text: UNKNOWN, share: null };
  return { label, text: words.percent(percent), share: percent / 100 };
}

/** Relative to 100 °C, above the temperature at which a GPU throttles. */
function temperatureMeter(celsius: number | null): Meter {
  const label = words.temperature;
  if (celsius === null) return { label, text: UNKNOWN, share: null };
  return {
    label,
    text: words.celsius(celsius),
    share: Math.min(1, Math.max(0, celsius / 100)),
  };
}

function gib(mib: number): string {
  return (mib / 1024).toFixed(1);
}

/** The GPUs of a machine combined: mean load, total memory, highest temperature. */
export interface MachineGpu {
  /** In percent. */
  readonly load: number | null;
  readonly memory: { readonly usedMb: number; readonly totalMb: number } | null;
  /** 0 to 1. */
  readonly memoryShare: number | null;
  readonly temperatureC: number | null;
}

export function gpuFigures({ gpu: { devices } }: Pick<Provider, 'gpu'>): MachineGpu {
  const loads = devices.flatMap(({ util_gpu }) => util_gpu ?? []);
  const heats = devices.flatMap(({ temperature_c }) => temperature_c ?? []);
  const used = devices.flatMap(({ memory_used_mb, memory_total_mb }) =>
    memory_used_mb === null || !memory_total_mb ? [] : { memory_used_mb, memory_total_mb },
  );
  const usedMb = used.reduce((sum, { memory_used_mb }) => sum + memory_used_mb, 0);
  const totalMb = used.reduce((sum, { memory_total_mb }) => sum + memory_total_mb, 0);
  return {
    load: loads.length === 0 ? null : loads.reduce((sum, load) => sum + load, 0) / loads.length,
    memory: totalMb === 0 ? null : { usedMb, totalMb },
    memoryShare: totalMb === 0 ? null : usedMb / totalMb,
    temperatureC: heats.length === 0 ? null : Math.max(...heats),
  };
}

/** `41%`, `12 of 24 GB`, `63 °C`; a dash if unknown. */
export function gpuTexts(provider: Pick<Provider, 'gpu'>) {
  const { load, memory, temperatureC } = gpuFigures(provider);
  return {
    load: load === null ? words.none : words.percent(Math.round(load)),
    memory: memory === null ? words.none : words.usedOf(gb(memory.usedMb), gb(memory.totalMb)),
    temperature: temperatureC === null ? words.none : words.celsius(temperatureC),
  };
}

const gb = (mib: number): string => String(Math.round(mib / 1024));
