import type { Clock } from '../../platform/clock.ts';

/** Who made an accelerator; decides which tool reads it. */
export type GpuVendor = 'nvidia' | 'amd' | 'apple' | 'intel';

/** One accelerator as its driver describes it. Null is unknown; 0 was measured. */
export interface GpuDevice {
  /** Stays with the card: NVIDIA's UUID, else its PCI address. Never its position. */
  readonly key: string;
  readonly vendor: GpuVendor;
  readonly name: string | null;
  /** MiB, as all drivers give it. */
  readonly memoryTotalMb: number | null;
  readonly memoryUsedMb: number | null;
  readonly memoryFreeMb: number | null;
  /** Percent of the time in which the chip was busy. */
  readonly utilGpu: number | null;
  /** Percent of the time in which the memory was read or written; not how full it is. */
  readonly utilMemory: number | null;
  readonly temperatureC: number | null;
  readonly gpuCores: number | null;
  /** NVIDIA's compute capability, such as `8.9`: tells the family of a chip that no table has. */
  readonly computeCapability: string | null;
  /** The machine's own memory serves as the accelerator's. */
  readonly isUnified: boolean;
  /** What the driver says instead of readings, as in `GPU is lost`; such a card cannot serve. */
  readonly fault: string | null;
}

/** Something that a person may want to mend. */
export interface Problem {
  /** The tool or file tree that was asked. */
  readonly tool: string;
  /** What was tried, as a command line or a path. */
  readonly tried: string;
  readonly happened: string;
  readonly remedy: string;
}

/** What a collector knows at this moment. */
export interface GpuReading {
  /**
   * `starting`: nothing was heard yet. `absent`: neither the tool nor its cards are on this machine.
   * `failing`: there is a tool that does not answer as it should.
   */
  readonly state: 'starting' | 'reading' | 'absent' | 'failing';
  readonly devices: readonly GpuDevice[];
  readonly problems: readonly Problem[];
}

/** Reads one vendor's accelerators in the background. */
export interface GpuCollector {
  start(): void;
  /** What is known now, at once: it never asks a driver. */
  read(): GpuReading;
  /** Ends everything it has started; resolves once that is gone. */
  stop(): Promise<void>;
}

/** Readings that change while a card works. */
const NO_LIVE_READINGS = {
  memoryUsedMb: null,
  memoryFreeMb: null,
  utilGpu: null,
  utilMemory: null,
  temperatureC: null,
} as const;

/** A card of which nothing is known but what it is; every reader fills in what its source tells. */
export const UNREAD = {
  ...NO_LIVE_READINGS,
  memoryTotalMb: null,
  gpuCores: null,
  computeCapability: null,
  isUnified: false,
  fault: null,
} as const;

/** A card whose live numbers are out of date: what it is stays known. */
export function outOfDate(device: GpuDevice): GpuDevice {
  return { ...device, ...NO_LIVE_READINGS };
}

/** What the registry takes from one machine; a tool that names more of them prints nonsense. */
export const MAX_GPUS = 64;

/** The cards of which readings came, and when. */
export class GpuTable {
  readonly #clock: Clock;
  readonly #staleMs: number;
  readonly #seen = new Map<string, { readonly device: GpuDevice; readonly at: number }>();

  constructor(clock: Clock, staleMs: number) {
    this.#clock = clock;
    this.#staleMs = staleMs;
  }

  add(device: GpuDevice): void {
    if (!this.#seen.has(device.key) && this.#seen.size >= MAX_GPUS) return;
    this.#seen.set(device.key, { device, at: this.#clock.ticks() });
  }

  clear(): void {
    this.#seen.clear();
  }

  /** Cards as last read; what moves becomes unknown when the tool has been silent for too long. */
  devices(): readonly GpuDevice[] {
    const newestAt = this.#newestAt();
    const isSilent = this.#clock.ticks() - newestAt > this.#staleMs;
    return [...this.#seen.values()]
      .filter(({ at }) => newestAt - at <= this.#staleMs)
      .map(({ device }) => (isSilent ? outOfDate(device) : device));
  }

  /** Cards that the tool no longer names while it goes on naming others. */
  lost(): readonly GpuDevice[] {
    const newestAt = this.#newestAt();
    return [...this.#seen.values()]
      .filter(({ at }) => newestAt - at > this.#staleMs)
      .map(({ device }) => device);
  }

  #newestAt(): number {
    return Math.max(...[...this.#seen.values()].map(({ at }) => at), 0);
  }
}
