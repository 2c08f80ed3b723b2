import type { Clock } from '../../platform/clock.ts';
import { MAX_GPUS, outOfDate, type GpuDevice } from './reading.ts';

/** The cards of which readings came, and when. */
export class GpuRoster {
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
