import type { Clock } from '../../platform/clock.ts';
import { createStartTool, type StartTool, type ToolWorld } from '../telemetry/child.ts';
import { createKernelFiles } from '../telemetry/files.ts';
import { linuxIdleMs } from './linux-idle.ts';
import { isLinuxOnBattery } from './linux-power.ts';
import { isMacOnBattery, macIdleMs } from './macos.ts';

/** What tells whether the machine is wanted by its owner; null is unknown. Neither ever rejects. */
export interface Surroundings {
  /** Milliseconds since somebody last touched the machine; Infinity where nobody is logged in. */
  userIdleMs(signal: AbortSignal): Promise<number | null>;
  isOnBattery(signal: AbortSignal): Promise<boolean | null>;
}

/** A machine that tells nobody. */
export const UNKNOWN_SURROUNDINGS: Surroundings = {
  userIdleMs: () => Promise.resolve(null),
  isOnBattery: () => Promise.resolve(null),
};

/** What reading them takes. */
export interface SurroundingsOptions extends ToolWorld {
  readonly clock: Clock;
  /** Where the kernel's files are; `/` but for tests. */
  readonly root?: string;
  /** Only tests start tools themselves. */
  readonly startTool?: StartTool;
}

/** The surroundings as a machine without a desktop shell tells them; Windows does not yet. */
export function createSurroundings(options: SurroundingsOptions): Surroundings {
  const { clock, platform } = options;
  const edges = { clock, startTool: options.startTool ?? createStartTool(options) };
  const files = createKernelFiles(options.root ?? '/');
  switch (platform) {
    case 'linux':
      return {
        userIdleMs: (signal) => linuxIdleMs({ ...edges, files }, signal),
        isOnBattery: () => isLinuxOnBattery(files),
      };
    case 'darwin':
      return {
        userIdleMs: (signal) => macIdleMs(edges, signal),
        isOnBattery: (signal) => isMacOnBattery(edges, signal),
      };
    default:
      return UNKNOWN_SURROUNDINGS;
  }
}
