import type { Clock } from '../../platform/clock.ts';
import { numberOf } from '../../platform/json.ts';
import { createKernelFiles } from '../telemetry/sysfs.ts';
import { runFirst } from '../telemetry/tool-paths.ts';
import {
  createStartTool,
  type StartTool,
  type ToolEdges,
  type ToolWorld,
} from '../telemetry/tool-process.ts';
import { isLinuxOnBattery, linuxIdleMs } from './linux.ts';

/** Signs that the owner is using the machine; null is unknown. The promises never reject. */
export interface HostActivity {
  /** Milliseconds since the last user input; Infinity if nobody is logged in. */
  userIdleMs(signal: AbortSignal): Promise<number | null>;
  isOnBattery(signal: AbortSignal): Promise<boolean | null>;
}

/** Reports every signal as unknown. */
export const UNKNOWN_HOST_ACTIVITY: HostActivity = {
  userIdleMs: () => Promise.resolve(null),
  isOnBattery: () => Promise.resolve(null),
};

interface HostActivityOptions extends ToolWorld {
  readonly clock: Clock;
  /** Root of the kernel's file tree; not `/` only in tests. */
  readonly root?: string;
  /** For tests. */
  readonly startTool?: StartTool;
}

/** Reads the signals without Electron; none on Windows yet. */
export function createHostActivity(options: HostActivityOptions): HostActivity {
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
      return UNKNOWN_HOST_ACTIVITY;
  }
}

const PMSET = ['pmset', '/usr/bin/pmset'];
const IOREG = ['ioreg', '/usr/sbin/ioreg'];
const IOREG_ARGS = ['-r', '-d', '1', '-w', '0', '-c', 'IOHIDSystem'];
const NANOSECONDS_PER_MS = 1e6;

async function isMacOnBattery(edges: ToolEdges, signal: AbortSignal): Promise<boolean | null> {
  const asked = await runFirst(PMSET, ['-g', 'batt'], edges, signal);
  return asked.kind === 'output' ? parsePmset(asked.text) : null;
}

/** Milliseconds since the last input by keyboard, mouse or trackpad. */
async function macIdleMs(edges: ToolEdges, signal: AbortSignal): Promise<number | null> {
  const asked = await runFirst(IOREG, IOREG_ARGS, edges, signal);
  return asked.kind === 'output' ? parseHidIdleMs(asked.text) : null;
}

/** Reads the first line of `pmset -g batt`; null if it names no source. */
export function parsePmset(text: string): boolean | null {
  const source = /drawing from '([^']+)'/.exec(text)?.[1] ?? null;
  return source === null ? null : source !== 'AC Power';
}

/** Reads `HIDIdleTime`, in nanoseconds, from the output of ioreg for IOHIDSystem. */
export function parseHidIdleMs(text: string): number | null {
  const nanoseconds = numberOf(/"HIDIdleTime" = (\d+)/.exec(text)?.[1] ?? null);
  return nanoseconds === null ? null : nanoseconds / NANOSECONDS_PER_MS;
}
