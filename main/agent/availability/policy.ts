/** What the owner has said; automatic rules pause the machine only while the wish is `on`. */
export type OwnerWish =
  | 'on'
  /** At once: what runs is ended. */
  | 'paused'
  /** What runs may finish. */
  | 'drained';

/** When a machine that is on takes no work all the same. */
export interface OwnerRules {
  /** Serve only while nobody uses the machine. */
  readonly onlyWhenIdle: boolean;
  readonly notOnBattery: boolean;
  /** Pause at this temperature of the hottest GPU, in °C; null for no limit. */
  readonly maxGpuTemperatureC: number | null;
  /** Pause while another program keeps the GPU busy. */
  readonly yieldToOthers: boolean;
}

/** One of the rules. */
export type OwnerRule = keyof OwnerRules;

/** All of them, in the order of the settings. */
export const OWNER_RULES = [
  'onlyWhenIdle',
  'notOnBattery',
  'maxGpuTemperatureC',
  'yieldToOthers',
] as const satisfies readonly OwnerRule[];

/** Why a rule pauses the machine. */
export type OwnerCause = 'in_use' | 'battery' | 'hot' | 'gpu_taken';

/** What rules are judged by; null is unknown and pauses nothing. */
export interface Observation {
  /** Milliseconds since somebody last touched the machine. */
  readonly userIdleMs: number | null;
  readonly isOnBattery: boolean | null;
  /** Of the hottest GPU. */
  readonly gpuTemperatureC: number | null;
  /** Of the busiest GPU, 0 to 100. */
  readonly gpuUtilPercent: number | null;
  /** Whether this agent or its engine is at work, or was until just now. */
  readonly isServing: boolean;
  /** Monotonic milliseconds. */
  readonly ticks: number;
}

/** The owner's wish and what the rules make of the moment. */
export interface OwnerState {
  readonly wish: OwnerWish;
  /** Rules that hold the machine back now. */
  readonly causes: readonly OwnerCause[];
  /** Causes that the owner has overruled; each until it ends by itself. */
  readonly overruled: readonly OwnerCause[];
  /** Since when the GPU is busy though nothing is served, or quiet again; null: neither. */
  readonly gpu: { readonly kind: 'busy' | 'quiet'; readonly sinceTicks: number } | null;
}

export const NO_RULES: OwnerRules = {
  onlyWhenIdle: false,
  notOnBattery: false,
  maxGpuTemperatureC: null,
  yieldToOthers: false,
};

/** A machine of which its owner has said nothing. */
export const FREE: OwnerState = { wish: 'on', causes: [], overruled: [], gpu: null };

/** Nobody has touched the machine for so long: it is idle. */
const IDLE_MS = 300_000;
/** A GPU that was too hot serves again once it is so much cooler, or it would switch to and fro. */
const COOLED_BY_C = 5;
const BUSY_PERCENT = 30;
const QUIET_PERCENT = 10;
/** A window that is dragged keeps a GPU busy for a second; another program for longer. */
const BUSY_MS = 5000;
/** Games load levels: quiet must last longer than that. */
const QUIET_MS = 30_000;

/** The state after an observation, by the rules of that moment. */
export function observed(state: OwnerState, rules: OwnerRules, seen: Observation): OwnerState {
  const next = { ...state, gpu: gpuPhase(state, seen) };
  const causes = CAUSES.filter((cause) => HOLDS[cause](rules, next, seen));
  const overruled = state.overruled.filter((cause) => causes.includes(cause));
  return { ...next, causes, overruled };
}

const CAUSES: readonly OwnerCause[] = ['in_use', 'battery', 'hot', 'gpu_taken'];

type Judge = (rules: OwnerRules, state: OwnerState, seen: Observation) => boolean;

const HOLDS: Readonly<Record<OwnerCause, Judge>> = {
  in_use: ({ onlyWhenIdle }, _state, { userIdleMs }) =>
    onlyWhenIdle && userIdleMs !== null && userIdleMs < IDLE_MS,
  battery: ({ notOnBattery }, _state, { isOnBattery }) => notOnBattery && isOnBattery === true,
  hot({ maxGpuTemperatureC: limit }, { causes }, { gpuTemperatureC }) {
    if (limit === null || gpuTemperatureC === null) return false;
    return gpuTemperatureC >= (causes.includes('hot') ? limit - COOLED_BY_C : limit);
  },
  gpu_taken({ yieldToOthers }, { causes, gpu }, { ticks, gpuUtilPercent }) {
    if (!yieldToOthers || gpuUtilPercent === null) return false;
    const lastedMs = gpu === null ? 0 : ticks - gpu.sinceTicks;
    if (causes.includes('gpu_taken')) return !(gpu?.kind === 'quiet' && lastedMs >= QUIET_MS);
    return gpu?.kind === 'busy' && lastedMs >= BUSY_MS;
  },
};

/** While we serve, a busy GPU says nothing of others. */
function gpuPhase({ gpu }: OwnerState, seen: Observation): OwnerState['gpu'] {
  const { gpuUtilPercent: util, ticks } = seen;
  if (util === null || seen.isServing) return null;
  if (util >= BUSY_PERCENT) return gpu?.kind === 'busy' ? gpu : { kind: 'busy', sinceTicks: ticks };
  if (util > QUIET_PERCENT) return null;
  return gpu?.kind === 'quiet' ? gpu : { kind: 'quiet', sinceTicks: ticks };
}

/** The state after the owner has spoken; to switch it on overrules what holds it back at this moment. */
export function wished(state: OwnerState, wish: OwnerWish): OwnerState {
  return { ...state, wish, overruled: wish === 'on' ? state.causes : [] };
}

/** How the machine serves, and why. */
export interface OwnerMode {
  readonly mode: 'on' | 'paused' | 'draining';
  /** For people, the first the weightiest; none while it is on. */
  readonly reasons: readonly string[];
}

/** What follows from the state while `inFlight` requests run. */
export function modeOf(state: OwnerState, rules: OwnerRules, inFlight: number): OwnerMode {
  if (state.wish === 'paused') return { mode: 'paused', reasons: ['Its owner has paused it.'] };
  const ending = inFlight > 0 ? 'draining' : 'paused';
  if (state.wish === 'drained') {
    return {
      mode: ending,
      reasons: ['Its owner lets running requests finish and takes no new ones.'],
    };
  }
  const causes = state.causes.filter((cause) => !state.overruled.includes(cause));
  if (causes.length === 0) return { mode: 'on', reasons: [] };
  return { mode: ending, reasons: causes.map((cause) => wordsFor(cause, rules)) };
}

function wordsFor(cause: OwnerCause, { maxGpuTemperatureC }: OwnerRules): string {
  switch (cause) {
    case 'in_use':
      return 'Somebody uses this machine, and it serves only while nobody does.';
    case 'battery':
      return 'This machine runs on battery.';
    case 'hot':
      return `A GPU is at ${maxGpuTemperatureC ?? 0} °C or more; it goes on ${COOLED_BY_C} °C below that.`;
    case 'gpu_taken':
      return 'Another program uses the GPU.';
  }
}
