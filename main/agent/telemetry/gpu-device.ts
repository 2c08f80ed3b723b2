import type { Clock } from '../../platform/clock.ts';

/** Decides which tool reads the accelerator. */
export type GpuVendor = 'nvidia' | 'amd' | 'apple' | 'intel';

/** An accelerator as its driver describes it. Null is unknown; 0 was measured. */
export interface GpuDevice {
  /** Identifies the card over restarts: NVIDIA's UUID, else its PCI address, never its position. */
  readonly key: string;
  readonly vendor: GpuVendor;
  readonly name: string | null;
  /** MiB, as all drivers report it. */
  readonly memoryTotalMb: number | null;
  readonly memoryUsedMb: number | null;
  readonly memoryFreeMb: number | null;
  /** Percent of the time in which the chip was busy. */
  readonly utilGpu: number | null;
  /** Percent of the time in which the memory was read or written; not how full it is. */
  readonly utilMemory: number | null;
  readonly temperatureC: number | null;
  readonly gpuCores: number | null;
  /** NVIDIA's compute capability, such as `8.9`: identifies the family of a chip that is in no table. */
  readonly computeCapability: string | null;
  /** The accelerator uses the machine's own memory. */
  readonly isUnified: boolean;
  /** The driver's message in place of readings, such as `GPU is lost`; such a card cannot serve. */
  readonly fault: string | null;
}

/** For people: what went wrong and how to fix it. */
export interface Problem {
  /** The tool or file tree that was read. */
  readonly tool: string;
  /** What was tried, as a command line or a path. */
  readonly tried: string;
  readonly happened: string;
  readonly remedy: string;
}

export interface GpuReading {
  /**
   * `starting`: no reading yet. `absent`: neither the tool nor its cards are on this machine. `failing`:
   * the tool does not answer as it should.
   */
  readonly state: 'starting' | 'reading' | 'absent' | 'failing';
  readonly devices: readonly GpuDevice[];
  readonly problems: readonly Problem[];
}

/** Reads one vendor's accelerators in the background. */
export interface GpuCollector {
  start(): void;
  /** Returns at once, without access to a driver. */
  read(): GpuReading;
  /** Resolves once every process that was started is gone. */
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

/** A card without readings; every reader overrides what its source reports. */
export const UNREAD = {
  ...NO_LIVE_READINGS,
  memoryTotalMb: null,
  gpuCores: null,
  computeCapability: null,
  isUnified: false,
  fault: null,
} as const;

/** The card without the readings that are out of date; what it is stays known. */
export function outOfDate(device: GpuDevice): GpuDevice {
  return { ...device, ...NO_LIVE_READINGS };
}

/** The registry's limit for one machine; a tool that reports more prints nonsense. */
export const MAX_GPUS = 64;

/** The cards that were read, and when. */
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

  /** Cards as last read; live readings become unknown when the tool has been silent for too long. */
  devices(): readonly GpuDevice[] {
    const newestAt = this.#newestAt();
    const isSilent = this.#clock.ticks() - newestAt > this.#staleMs;
    return [...this.#seen.values()]
      .filter(({ at }) => newestAt - at <= this.#staleMs)
      .map(({ device }) => (isSilent ? outOfDate(device) : device));
  }

  /** Cards that the tool no longer reports while it goes on reporting others. */
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
