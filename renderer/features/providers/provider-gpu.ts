import type { Provider } from '#shared/provider.ts';
import { UNKNOWN } from './provider-facts.ts';
import { t } from '../../text/t.ts';

const words = t.providers.gpu;

export type GpuDevice = Provider['gpu']['devices'][number];

/** A figure with the part of its whole that it is. */
export interface Meter {
  readonly label: string;
  readonly text: string;
  /** 0 to 1, null where it is not known. */
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

/** Of a hundred degrees: there a GPU has long slowed itself down. */
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
