import {
  gpuPhaseAfter,
  type GpuPhase,
  type Observation,
  OWNER_RULES,
  type OwnerRuleKey,
  type OwnerRules,
} from './rules.ts';

/** The mode that the owner wants; rules can pause the machine only while it is `on`. */
export type OwnerWish =
  | 'on'
  /** At once: running requests are ended. */
  | 'paused'
  /** Running requests may finish. */
  | 'drained';

/** The mode that the owner wants, and which rules hold at the moment. */
export interface OwnerState {
  readonly wish: OwnerWish;
  readonly holding: readonly OwnerRuleKey[];
  /** Rules that the owner has overridden, each until it no longer holds. */
  readonly overruled: readonly OwnerRuleKey[];
  readonly gpuPhase: GpuPhase;
}

/** Before the owner has chosen a mode, and before the first observation. */
export const INITIAL_STATE: OwnerState = {
  wish: 'on',
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
  const holding = OWNER_RULES.filter((rule) =>
    rule.holds(rules, seen, { held: state.holding.includes(rule.key), gpuPhase }),
  ).map(({ key }) => key);
  const overruled = state.overruled.filter((key) => holding.includes(key));
  return { ...state, holding, overruled, gpuPhase };
}

/** The state after the owner has chosen a mode; `on` overrides the rules that hold at this moment. */
export function afterWish(state: OwnerState, wish: OwnerWish): OwnerState {
  return { ...state, wish, overruled: wish === 'on' ? state.holding : [] };
}

/** How the machine serves, and why. */
export interface OwnerMode {
  readonly mode: 'on' | 'paused' | 'draining';
  /** Human-readable, the most important first; none while the machine is on. */
  readonly reasons: readonly string[];
}

/** The mode in this state while `inFlight` requests run. */
export function modeOf(state: OwnerState, rules: OwnerRules, inFlight: number): OwnerMode {
  if (state.wish === 'paused') return { mode: 'paused', reasons: ['Its owner has paused it.'] };
  const ending = inFlight > 0 ? 'draining' : 'paused';
  if (state.wish === 'drained') {
    return {
      mode: ending,
      reasons: ['Its owner lets running requests finish and takes no new ones.'],
    };
  }
  const causes = OWNER_RULES.filter(
    ({ key }) => state.holding.includes(key) && !state.overruled.includes(key),
  );
  if (causes.length === 0) return { mode: 'on', reasons: [] };
  return { mode: ending, reasons: causes.map((rule) => rule.says(rules)) };
}
