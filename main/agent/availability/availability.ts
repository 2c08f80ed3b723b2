import type { OwnerChoice } from '#shared/agent.ts';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { createStateFile } from '../../platform/files.ts';
import type { Inference } from '../server/inference.ts';
import type { TelemetryWatch } from '../telemetry/telemetry.ts';
import type { HostActivity } from './host-activity.ts';
import {
  type GpuPhase,
  gpuPhaseAfter,
  isSet,
  type Observation,
  OWNER_RULES,
  type OwnerRuleKey,
  type OwnerRules,
  type Signals,
} from './rules.ts';

/** The owner has freed the memory of the machine's models; it takes no requests meanwhile. */
export interface MemoryRelease {
  /** Milliseconds since the epoch; null: until the owner says so. */
  readonly untilMs: number | null;
}

export interface OwnerState {
  readonly choice: OwnerChoice;
  /** Null unless the owner has freed the memory of the machine's models. */
  readonly freed: MemoryRelease | null;
  readonly holding: readonly OwnerRuleKey[];
  /** Rules that the owner has overridden, each until it no longer holds. */
  readonly overruled: readonly OwnerRuleKey[];
  readonly gpuPhase: GpuPhase;
}

/** Before the owner has chosen a mode, and before the first observation. */
export const INITIAL_STATE: OwnerState = {
  choice: 'on',
  freed: null,
  holding: [],
  overruled: [],
  gpuPhase: null,
};

/** The state after an observation of the machine, by the rules as they are set now. */
export function afterObservation(
  state: OwnerState,
  rules: OwnerRules,
  seen: Observation,
): OwnerState {
  const gpuPhase = gpuPhaseAfter(state.gpuPhase, seen);
  const holding = OWNER_RULES.filter(
    (rule) =>
      isSet(rule.key, rules) &&
      rule.holds(seen, { held: state.holding.includes(rule.key), gpuPhase }, rules),
  ).map(({ key }) => key);
  const overruled = state.overruled.filter((key) => holding.includes(key));
  return { ...state, holding, overruled, gpuPhase };
}

/**
 * The state after the owner has chosen a mode; `on` takes the memory back and overrides the rules that hold at this
 * moment.
 */
export function afterChoice(state: OwnerState, choice: OwnerChoice): OwnerState {
  if (choice !== 'on') return { ...state, choice, overruled: [] };
  return { ...state, choice, freed: null, overruled: state.holding };
}

/** The state at a time: what was freed until then comes back. */
export function afterTime(state: OwnerState, nowMs: number): OwnerState {
  const untilMs = state.freed?.untilMs ?? null;
  return untilMs !== null && nowMs >= untilMs ? { ...state, freed: null } : state;
}

export interface OwnerMode {
  readonly mode: 'on' | 'paused' | 'draining';
  /** Human-readable, the most important first; none while the machine is on. */
  readonly reasons: readonly string[];
}

/** The mode in this state while `inFlight` requests run. */
export function modeOf(state: OwnerState, rules: OwnerRules, inFlight: number): OwnerMode {
  const ending = inFlight > 0 ? 'draining' : 'paused';
  if (state.freed !== null) {
    const mode = state.choice === 'paused' ? 'paused' : ending;
    return { mode, reasons: ['Its owner has freed its memory for other programs.'] };
  }
  if (state.choice === 'paused') return { mode: 'paused', reasons: ['Its owner has paused it.'] };
  if (state.choice === 'drained') {
    return {
      mode: ending,
      reasons: ['Its owner lets running requests finish and takes no new ones.'],
    };
  }
  const causes = causesOf(state);
  if (causes.length === 0) return { mode: 'on', reasons: [] };
  return { mode: ending, reasons: causes.map((rule) => rule.says(rules)) };
}

/** The rules that keep requests away now. */
function causesOf({ holding, overruled }: OwnerState) {
  return OWNER_RULES.filter(({ key }) => holding.includes(key) && !overruled.includes(key));
}

/** What the owner and the owner's rules want of the memory. */
export type MemoryGoal =
  | { readonly kind: 'kept' }
  /** Running requests are ended after `graceMs`; null: they may finish. */
  | { readonly kind: 'freed'; readonly graceMs: number | null };

/** Running requests may finish for this long once the owner wants the memory. */
const FREE_GRACE_MS = 30_000;

/** What this state means for the models in memory; `rulesFree`: rules free it too, instead of only pausing. */
export function memoryGoalOf(state: OwnerState, rulesFree: boolean): MemoryGoal {
  if (state.freed !== null) return { kind: 'freed', graceMs: FREE_GRACE_MS };
  const isFreed = rulesFree && state.choice === 'on' && causesOf(state).some(({ frees }) => frees);
  return isFreed ? { kind: 'freed', graceMs: null } : { kind: 'kept' };
}

/**
 * Whether this machine takes requests: the mode that the owner wants, which survives restarts, and the rules in the
 * settings.
 */
export type Availability = ReturnType<typeof createAvailability>;

interface AvailabilityDeps {
  readonly dataDirectory: string;
  readonly rules: () => OwnerRules;
  /** Whether rules free the memory as well. */
  readonly rulesFree: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts from the mode that an earlier run saved; `changed` is called when more than the GPU's phase changes. */
export function createAvailability(deps: AvailabilityDeps, changed: () => void) {
  const { rules, clock } = deps;
  let state = INITIAL_STATE;
  let cancelTimer = () => {};
  const file = createStateFile(
    join(deps.dataDirectory, FILE),
    () => ({ version: 1, choice: state.choice, freed: state.freed }),
    deps,
  );
  const saved = fileSchema.safeParse(file.load()).data ?? INITIAL_STATE;
  state = { ...INITIAL_STATE, choice: saved.choice, freed: saved.freed };
  watchTime();

  /** The memory comes back at the second, not at the next observation. */
  function watchTime(): void {
    cancelTimer();
    const untilMs = state.freed?.untilMs ?? null;
    if (untilMs === null) return;
    cancelTimer = clock.after(Math.max(0, untilMs - clock.now()), () => {
      set(afterTime(state, clock.now()));
      void save();
    });
  }

  /** Resolves once the state is on disk, or the write has failed and that is logged. */
  function save(): Promise<void> {
    file.changed();
    return file.flush();
  }

  function set(next: OwnerState): void {
    const shown = ({ choice, freed, holding, overruled }: OwnerState) =>
      JSON.stringify([choice, freed, holding, overruled]);
    const hasChanged = shown(state) !== shown(next);
    state = next;
    if (hasChanged) changed();
  }

  return {
    choice: () => state.choice,
    freed: () => state.freed,
    memoryGoal: () => memoryGoalOf(state, deps.rulesFree()),
    rules,
    mode: (inFlight: number) => modeOf(state, rules(), inFlight),
    setChoice(choice: OwnerChoice) {
      set(afterChoice(state, choice));
      watchTime();
      return save();
    },
    /** Takes no requests and wants the models out of memory; resolves once that is on disk. */
    setFreed(freed: MemoryRelease) {
      set({ ...state, freed });
      watchTime();
      return save();
    },
    look(seen: Observation) {
      const now = afterTime(state, clock.now());
      set(afterObservation(now, rules(), seen));
    },
    stop: () => cancelTimer(),
  };
}

const choiceSchema = z.enum(['on', 'paused', 'drained']) satisfies z.ZodType<OwnerChoice>;

const fileSchema = z.object({
  version: z.literal(1),
  choice: choiceSchema.default('on'),
  freed: z.object({ untilMs: z.number().nullable() }).nullable().default(null),
});

const FILE = 'agent-owner.json';

/** Evaluates the owner's rules on the signals of this machine. */
export type AvailabilityMonitor = ReturnType<typeof createAvailabilityMonitor>;

interface AvailabilityMonitorDeps {
  readonly clock: Clock;
  readonly telemetry: TelemetryWatch;
  readonly hostActivity: HostActivity;
  readonly availability: Availability;
  readonly inference: Pick<Inference, 'inFlight' | 'lastEndedTicks'>;
}

/** A GPU reading is up to this old, so it may still show our own work after that has ended. */
const READING_AGE_MAX_MS = 20_000;

export function createAvailabilityMonitor(deps: AvailabilityMonitorDeps) {
  const { clock, telemetry, hostActivity, availability, inference } = deps;
  const stopping = new AbortController();
  const poll = { signal: stopping.signal, onRead: judge };
  const userIdle = createPolledSignal(hostActivity.userIdleMs, poll);
  const onBattery = createPolledSignal(hostActivity.isOnBattery, poll);
  /** Those of the GPUs are read anyway. */
  const polled = new Map<keyof Signals, { readonly poll: () => void }>([
    ['userIdleMs', userIdle],
    ['isOnBattery', onBattery],
  ]);

  function signals(): Signals {
    const { state, devices } = telemetry.read().gpus;
    const highest = (values: readonly (number | null)[]) => {
      const known = values.filter((each) => each !== null);
      if (known.length > 0) return Math.max(...known);
      return state === 'starting' ? undefined : null;
    };
    return {
      userIdleMs: userIdle.last(),
      isOnBattery: onBattery.last(),
      gpuTemperatureC: highest(devices.map(({ temperatureC }) => temperatureC)),
      gpuUtilPercent: highest(devices.map(({ utilGpu }) => utilGpu)),
    };
  }

  function judge(): void {
    const ended = inference.lastEndedTicks();
    const isWarm = ended !== null && clock.ticks() - ended < READING_AGE_MAX_MS;
    availability.look({
      ...signals(),
      isServing: inference.inFlight() > 0 || isWarm,
      ticks: clock.ticks(),
    });
  }

  return {
    /** Reads every signal once, to find out which rules can be evaluated here. */
    start() {
      judge();
      for (const signal of polled.values()) signal.poll();
    },
    /** Evaluates the rules on the last readings, and reads again the signals that active rules need. */
    look() {
      const rules = availability.rules();
      judge();
      for (const { key, senses } of OWNER_RULES) if (isSet(key, rules)) polled.get(senses)?.poll();
    },
    /** Rules whose signal this machine does not report, active or not. */
    unjudgeable() {
      const now = signals();
      return OWNER_RULES.filter(({ senses }) => now[senses] === null).map(({ key }) => key);
    },
    stop: () => stopping.abort(),
  };
}

/** A signal of the host, with at most one read in flight; `onRead` is called after each read until `signal` aborts. */
function createPolledSignal<T>(
  read: (signal: AbortSignal) => Promise<T>,
  { signal, onRead }: { readonly signal: AbortSignal; readonly onRead: () => void },
) {
  let last: T | undefined;
  let isReading = false;

  async function poll(): Promise<void> {
    isReading = true;
    const value = await read(signal);
    isReading = false;
    if (signal.aborted) return;
    last = value;
    onRead();
  }

  return {
    /** Undefined before the first. */
    last: () => last,
    /** Starts a reading unless one is in progress. */
    poll() {
      if (!isReading && !signal.aborted) void poll();
    },
  };
}
