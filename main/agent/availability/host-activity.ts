import type { Clock } from '../../platform/clock.ts';
import { IOREG, ioregArgs } from '../telemetry/apple.ts';
import { createKernelFiles, type KernelFiles } from '../telemetry/sysfs.ts';
import {
  createStartTool,
  outputOf,
  type StartTool,
  type ToolEdges,
  type ToolWorld,
} from '../telemetry/tool-process.ts';

/** Signs that the owner is using the machine; null is unknown. The promises never reject. */
export interface HostActivity {
  /** Milliseconds since the last user input; Infinity if nobody is logged in. */
  readonly userIdleMs: (signal: AbortSignal) => Promise<number | null>;
  readonly isOnBattery: (signal: AbortSignal) => Promise<boolean | null>;
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
  /** Replaces how tools are started, in tests. */
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
        userIdleMs: (signal) => linuxIdleMs(edges, signal),
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
const NANOSECONDS_PER_MS = 1e6;

async function isMacOnBattery(edges: ToolEdges, signal: AbortSignal): Promise<boolean | null> {
  const text = await outputOf(PMSET, ['-g', 'batt'], edges, signal);
  const source = /drawing from '([^']+)'/.exec(text ?? '')?.[1];
  return source === undefined ? null : source !== 'AC Power';
}

/** Milliseconds since the last input by keyboard, mouse or trackpad. */
async function macIdleMs(edges: ToolEdges, signal: AbortSignal): Promise<number | null> {
  const text = await outputOf(IOREG, ioregArgs('IOHIDSystem'), edges, signal);
  const nanoseconds = /"HIDIdleTime" = (\d+)/.exec(text ?? '')?.[1];
  return nanoseconds === undefined ? null : Number(nanoseconds) / NANOSECONDS_PER_MS;
}

const LOGINCTL = ['loginctl', '/usr/bin/loginctl'];
const LIST = ['list-sessions', '--no-legend', '--no-pager'];
const PROPERTIES = ['Type', 'Class', 'State', 'IdleHint', 'IdleSinceHint'];
const SHOW = ['show-session', '--no-pager', ...PROPERTIES.map((name) => `--property=${name}`)];

/** Milliseconds since the last user input; only logind knows it. */
async function linuxIdleMs(edges: ToolEdges, signal: AbortSignal): Promise<number | null> {
  const listed = await outputOf(LOGINCTL, LIST, edges, signal);
  if (listed === null) return null;
  const ids = parseSessionIds(listed);
  if (ids.length === 0) return Infinity;
  const shown = await outputOf(LOGINCTL, [...SHOW, ...ids], edges, signal);
  // A session that has ended in between makes this fail; the next poll succeeds.
  return shown === null ? null : idleOfSessions(parseSessions(shown), edges.clock.now());
}

const CLASSES = '/sys/class';
const SUPPLIES = `${CLASSES}/power_supply`;

/** Whether this machine runs on its battery; null if the kernel's files cannot be read. */
async function isLinuxOnBattery(files: KernelFiles): Promise<boolean | null> {
  // A kernel without this class has no battery; if there is no class at all, the files are hidden from us.
  if ((await files.names(CLASSES)).length === 0) return null;
  const supplies = await Promise.all(
    (await files.names(SUPPLIES)).map(async (name) => {
      const at = (file: string) => files.text(`${SUPPLIES}/${name}/${file}`);
      return {
        // `Battery`, `Mains`, `USB`, `UPS`, `Wireless`.
        isBattery: (await at('type')) === 'Battery',
        // For the battery of a mouse; most machines omit it for their own.
        isDevices: (await at('scope')) === 'Device',
        isDischarging: (await at('status')) === 'Discharging',
        // Batteries have none; USB supplies use values other than `1` too.
        isProviding: ((await at('online')) ?? '0') !== '0',
      };
    }),
  );
  // systemd's rule: one of the machine's own batteries discharges, and no other supply provides power.
  const own = supplies.filter(({ isDevices }) => !isDevices);
  const isPlugged = own.some(({ isBattery, isProviding }) => !isBattery && isProviding);
  return !isPlugged && own.some(({ isBattery, isDischarging }) => isBattery && isDischarging);
}

/** A session as shown by `loginctl show-session` (org.freedesktop.login1). */
interface Session {
  readonly isGraphical: boolean;
  /** Belongs to a person, and is not about to end. */
  readonly isUsers: boolean;
  readonly isIdle: boolean;
  /** Milliseconds since the epoch; null if the session has never reported it. */
  readonly idleSinceMs: number | null;
}

/** A machine with more sessions is not a personal one, and the length of a command line is limited. */
const MAX_SESSIONS = 64;

/** Session ids: the first word of each line of `loginctl list-sessions --no-legend`. */
function parseSessionIds(text: string): readonly string[] {
  const words = text.split('\n').map((line) => line.trim().split(/\s+/)[0] ?? '');
  return words.filter((word) => /^\w+$/.test(word)).slice(0, MAX_SESSIONS);
}

/** Reads `loginctl show-session`: a line for each property, an empty one between sessions. */
export function parseSessions(text: string): readonly Session[] {
  return text
    .split(/\n\s*\n/)
    .filter((block) => block.includes('='))
    .map((block) => {
      const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(block)?.[1] ?? '';
      const sinceUs = Number(value('IdleSinceHint'));
      return {
        isGraphical: /^(x11|wayland|mir)$/.test(value('Type')),
        isUsers: /^user\b/.test(value('Class')) && value('State') !== 'closing',
        isIdle: value('IdleHint') === 'yes',
        idleSinceMs: sinceUs > 0 ? sinceUs / 1000 : null,
      };
    });
}

/** Milliseconds since the last user input in any session; null if a desktop does not report it. */
export function idleOfSessions(sessions: readonly Session[], nowMs: number): number | null {
  const idle = sessions.filter(({ isUsers }) => isUsers).map((session) => idleOf(session, nowMs));
  const known = idle.filter((ms) => ms !== null);
  return known.length < idle.length ? null : Math.min(Infinity, ...known);
}

/**
 * A text session has the time at which its terminal was last read, or none if nobody can type in it, as with a file
 * transfer. A desktop reports by itself that it is idle; one that has never done so may never do so, so its silence
 * means nothing.
 */
function idleOf({ isGraphical, isIdle, idleSinceMs }: Session, nowMs: number): number | null {
  if (idleSinceMs === null) return isGraphical ? null : Infinity;
  return isGraphical && !isIdle ? 0 : Math.max(0, nowMs - idleSinceMs);
}
