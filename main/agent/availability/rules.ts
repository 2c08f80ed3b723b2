import { type Config, SETTINGS } from '../../config/schema.ts';

/**
 * What rules are evaluated on; null if this machine does not report it, undefined before the first reading. No rule on
 * either holds.
 */
export interface Signals {
  /** Milliseconds since the last user input. */
  readonly userIdleMs: Unsure<number>;
  readonly isOnBattery: Unsure<boolean>;
  /** The temperature of the hottest GPU, in °C. */
  readonly gpuTemperatureC: Unsure<number>;
  /** The load of the busiest GPU, 0 to 100. */
  readonly gpuUtilPercent: Unsure<number>;
}

type Unsure<T> = T | null | undefined;

export interface Observation extends Signals {
  /** Whether this agent or its engine is working, or was until just now. */
  readonly isServing: boolean;
  /** Monotonic milliseconds. */
  readonly ticks: number;
}

/** What a rule knows of earlier observations. */
interface Past {
  /** Whether it held at the last observation. */
  readonly held: boolean;
  readonly gpuPhase: GpuPhase;
}

/** The owner's settings of the rules. */
export type OwnerRules = Pick<
  Config['agent'],
  'onlyWhenIdle' | 'notOnBattery' | 'maxGpuTemperatureC' | 'yieldToOthers'
>;

export type OwnerRuleKey = keyof OwnerRules;

/** By default every rule is switched off. */
export const isSet = (key: OwnerRuleKey, rules: OwnerRules): boolean =>
  rules[key] !== SETTINGS.agent[key].fallback;

/** One rule that pauses a machine which is on. */
interface OwnerRule {
  readonly key: OwnerRuleKey;
  readonly senses: keyof Signals;
  /** Whether another program has a use for the memory while it holds. */
  readonly frees: boolean;
  /** Not called while it is switched off. */
  holds(seen: Observation, past: Past, rules: OwnerRules): boolean;
  /** Why the machine is paused, human-readable. */
  says(rules: OwnerRules): string;
}

/** After this long without user input the machine is idle. */
const IDLE_MS = 300_000;
/** A GPU that was too hot serves again this much below the limit, so that it does not flap. */
const COOLED_BY_C = 5;
const BUSY_PERCENT = 30;
const QUIET_PERCENT = 10;
/** One reading (there is one every 15 s) may show a window being dragged; another program shows in two. */
const BUSY_MS = 20_000;
/** Longer than a game takes to load a level. */
const QUIET_MS = 30_000;

/**
 * The owner's rules, the most important reason first. A rule is one object here, a setting in `main/config/schema.ts`
 * and its words in `renderer/text/en/setting-names.ts`.
 */
export const OWNER_RULES: readonly OwnerRule[] = [
  {
    key: 'onlyWhenIdle',
    senses: 'userIdleMs',
    frees: true,
    holds: ({ userIdleMs }) => (userIdleMs ?? Infinity) < IDLE_MS,
    says: () => 'Someone is using this machine, and it serves only while no one does.',
  },
  {
    key: 'notOnBattery',
    senses: 'isOnBattery',
    frees: true,
    holds: ({ isOnBattery }) => isOnBattery === true,
    says: () => 'This machine runs on battery.',
  },
  {
    key: 'maxGpuTemperatureC',
    senses: 'gpuTemperatureC',
    frees: false,
    holds({ gpuTemperatureC }, { held }, { maxGpuTemperatureC: limit }) {
      if (limit === null) return false;
      return (gpuTemperatureC ?? -Infinity) >= (held ? limit - COOLED_BY_C : limit);
    },
    says: ({ maxGpuTemperatureC: limit }) =>
      `A GPU is at ${limit ?? 0} °C or more; it resumes ${COOLED_BY_C} °C below that.`,
  },
  {
    key: 'yieldToOthers',
    senses: 'gpuUtilPercent',
    frees: true,
    holds({ ticks, gpuUtilPercent }, { held, gpuPhase }) {
      if (typeof gpuUtilPercent !== 'number') return false;
      const lastedMs = gpuPhase === null ? 0 : ticks - gpuPhase.sinceTicks;
      if (held) return !(gpuPhase?.kind === 'quiet' && lastedMs >= QUIET_MS);
      return gpuPhase?.kind === 'busy' && lastedMs >= BUSY_MS;
    },
    says: () => 'Another program uses the GPU.',
  },
];

export const OWNER_RULE_KEYS: readonly OwnerRuleKey[] = OWNER_RULES.map(({ key }) => key);

/** The settings about rules, and about the memory that they free. */
export const OWNER_RULE_SETTINGS = [...OWNER_RULE_KEYS, 'freeMemory', 'idleUnloadMin'] as const;

/** Only these of the section `agent` are passed on: others are secret. */
export function ownerRulesIn(settings: Config['agent']) {
  const rules = OWNER_RULE_SETTINGS.map((key) => [key, settings[key]] as const);
  return Object.fromEntries(rules) as Pick<typeof settings, (typeof OWNER_RULE_SETTINGS)[number]>;
}

/** Since when the GPU has been busy although nothing is served, or quiet again; null if neither, or unknown. */
export type GpuPhase = { readonly kind: 'busy' | 'quiet'; readonly sinceTicks: number } | null;

/** While this machine serves, a busy GPU says nothing about other programs. */
export function gpuPhaseAfter(before: GpuPhase, seen: Observation): GpuPhase {
  const { gpuUtilPercent: util, isServing, ticks } = seen;
  if (typeof util !== 'number' || isServing) return null;
  if (util >= BUSY_PERCENT)
    return before?.kind === 'busy' ? before : { kind: 'busy', sinceTicks: ticks };
  if (util > QUIET_PERCENT) return null;
  return before?.kind === 'quiet' ? before : { kind: 'quiet', sinceTicks: ticks };
}
