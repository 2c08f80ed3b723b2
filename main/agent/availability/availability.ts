import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type AgentView, OWNER_CHOICES, type OwnerChoice } from '#shared/agent.ts';
import { createStateFile } from '../../platform/files.ts';
import type { AgentContext } from '../context.ts';
import type { FileWarning } from '../storage.ts';
import type { Inference } from '../server/inference.ts';
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

export interface OwnerState {
  readonly choice: OwnerChoice;
  readonly freed: AgentView['owner']['freed'];
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

/** A machine that was held back must not serve. */
const LOST: FileWarning = {
  happened: 'Whether this machine takes requests could not be read, so it is held back.',
  remedy: 'Resume it if you did not hold it back.',
};

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
  if (state.choice === 'paused') return { mode: 'paused', reasons: ['Its owner holds it back.'] };
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
  /** Running requests are ended after `graceMs`. */
  | { readonly kind: 'freed'; readonly graceMs: number };

/** Running requests may finish for this long once the owner wants the memory. */
const FREE_GRACE_MS = 30_000;

/** What this state means for the models in memory; `rulesFree`: rules free it too, instead of only pausing. */
export function memoryGoalOf(state: OwnerState, rulesFree: boolean): MemoryGoal {
  if (state.freed !== null) return { kind: 'freed', graceMs: FREE_GRACE_MS };
  const isFreed = rulesFree && state.choice === 'on' && causesOf(state).some(({ frees }) => frees);
  return isFreed ? { kind: 'freed', graceMs: Infinity } : { kind: 'kept' };
}

/** A GPU reading is up to this old, so it may still show our own work after that has ended. */
const READING_AGE_MAX_MS = 20_000;

export type Availability = ReturnType<typeof createAvailability>;

/**
 * Whether this machine takes requests: the mode that the owner wants, which survives restarts, and the rules in the
 * settings, which are evaluated on the signals of this machine. `changed` is called if more than the GPU's phase has.
 */
export function createAvailability(
  context: AgentContext,
  inference: Pick<Inference, 'inFlight' | 'lastEndedTicks'>,
  changed: () => void,
) {
  const { config, clock, hostActivity, telemetry } = context;
  const settings = () => config().agent;
  const kept = () => ({ version: 1, choice: state.choice, freed: state.freed });
  const file = createStateFile(join(context.dataDirectory, FILE), kept, context);
  const saved = file.load();
  const restored = saved === null ? INITIAL_STATE : fileSchema.safeParse(saved).data;
  const { choice, freed } = restored ?? { ...INITIAL_STATE, choice: 'paused' };
  let state: OwnerState = { ...INITIAL_STATE, choice, freed };
  if (restored === undefined) void save();
  const stopping = new AbortController();
  /** The last readings of the host; those of the GPUs are read anyway. */
  let polled: Pick<Signals, keyof HostActivity> = { userIdleMs: undefined, isOnBattery: undefined };
  const reading = new Set<keyof HostActivity>();

  /** Resolves once the state is on disk, or the write has failed and that is logged. */
  function save(): Promise<void> {
    file.changed();
    return file.flush();
  }

  function set(next: OwnerState): void {
    const before = { ...state, gpuPhase: next.gpuPhase };
    state = next;
    if (!isDeepStrictEqual(before, next)) changed();
  }

  /** Reads a signal of the host and evaluates the rules on it, unless it is being read. */
  async function poll(name: keyof HostActivity): Promise<void> {
    const { signal } = stopping;
    if (reading.has(name) || signal.aborted) return;
    reading.add(name);
    const value = await hostActivity[name](signal);
    reading.delete(name);
    if (signal.aborted) return;
    polled = { ...polled, [name]: value };
    judge();
  }

  function signals(): Signals {
    const { state: gpuState, devices } = telemetry.read().gpus;
    const highest = (values: readonly (number | null)[]) => {
      const known = values.filter((each) => each !== null);
      if (known.length > 0) return Math.max(...known);
      return gpuState === 'starting' ? undefined : null;
    };
    return {
      ...polled,
      gpuTemperatureC: highest(devices.map(({ temperatureC }) => temperatureC)),
      gpuUtilPercent: highest(devices.map(({ utilGpu }) => utilGpu)),
    };
  }

  function judge(): void {
    const ticks = clock.ticks();
    const ended = inference.lastEndedTicks() ?? -Infinity;
    const isServing = inference.inFlight() > 0 || ticks - ended < READING_AGE_MAX_MS;
    const seen = { ...signals(), isServing, ticks };
    set(afterObservation(afterTime(state, clock.now()), settings(), seen));
  }

  return {
    warning: restored === undefined ? LOST : null,
    choice: () => state.choice,
    freed: () => state.freed,
    memoryGoal: () => memoryGoalOf(state, settings().freeMemory),
    mode: () => modeOf(state, settings(), inference.inFlight()),
    setChoice(wanted: OwnerChoice) {
      set(afterChoice(state, wanted));
      return save();
    },
    /** Takes no requests and wants the models out of memory, until then or for good; resolves once that is on disk. */
    free(untilMs: number | null) {
      set({ ...state, freed: { untilMs } });
      return save();
    },
    /** Reads every signal once, to find out which rules can be evaluated here. */
    start() {
      judge();
      void poll('userIdleMs');
      void poll('isOnBattery');
    },
    /** Evaluates the rules on the last readings, and reads again the signals that active rules need. */
    look() {
      const rules = settings();
      judge();
      for (const { key, senses } of OWNER_RULES)
        if (isSet(key, rules) && (senses === 'userIdleMs' || senses === 'isOnBattery'))
          void poll(senses);
    },
    /** Rules whose signal this machine does not report, active or not. */
    unjudgeable() {
      const now = signals();
      return OWNER_RULES.filter(({ senses }) => now[senses] === null).map(({ key }) => key);
    },
    stop: () => stopping.abort(),
    flush: () => file.flush(),
  };
}

const fileSchema = z.object({
  version: z.literal(1),
  choice: z.enum(OWNER_CHOICES).default('on'),
  freed: z.object({ untilMs: z.number().nullable() }).nullable().default(null),
});

const FILE = 'agent-owner.json';
