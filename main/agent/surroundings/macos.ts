import { numberOf } from '../json.ts';
import { runFirst } from '../telemetry/places.ts';
import type { ToolEdges } from '../telemetry/run-tool.ts';

const PMSET = ['pmset', '/usr/bin/pmset'];
const IOREG = ['ioreg', '/usr/sbin/ioreg'];
const IOREG_ARGS = ['-r', '-d', '1', '-w', '0', '-c', 'IOHIDSystem'];
const NANOSECONDS_PER_MS = 1e6;

/** Whether this Mac runs on its battery. */
export async function isMacOnBattery(
  edges: ToolEdges,
  signal: AbortSignal,
): Promise<boolean | null> {
  const asked = await runFirst(PMSET, ['-g', 'batt'], edges, signal);
  return asked.kind === 'output' ? parsePmset(asked.text) : null;
}

/** Milliseconds since keyboard, mouse or trackpad of this Mac were last touched. */
export async function macIdleMs(edges: ToolEdges, signal: AbortSignal): Promise<number | null> {
  const asked = await runFirst(IOREG, IOREG_ARGS, edges, signal);
  return asked.kind === 'output' ? parseHidIdleMs(asked.text) : null;
}

/** Reads the first line of `pmset -g batt`; null where it names no source. */
export function parsePmset(text: string): boolean | null {
  const source = /drawing from '([^']+)'/.exec(text)?.[1] ?? null;
  return source === null ? null : source !== 'AC Power';
}

/** Reads `HIDIdleTime`, in nanoseconds, from what ioreg tells of IOHIDSystem. */
export function parseHidIdleMs(text: string): number | null {
  const nanoseconds = numberOf(/"HIDIdleTime" = (\d+)/.exec(text)?.[1] ?? null);
  return nanoseconds === null ? null : nanoseconds / NANOSECONDS_PER_MS;
}
