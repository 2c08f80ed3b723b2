import type { GpuDevice } from '../telemetry/gpu-device.ts';
import type { HostActivity } from './host-activity.ts';

/** What rules are evaluated on; null if this machine does not report it, and then no rule on it holds. */
export interface Signals {
  /** Milliseconds since the last user input. */
  readonly userIdleMs: number | null;
  readonly isOnBattery: boolean | null;
  /** Of the hottest GPU, in °C. */
  readonly gpuTemperatureC: number | null;
  /** Of the busiest GPU, 0 to 100. */
  readonly gpuUtilPercent: number | null;
}

/** How a signal is read: from the host, only for active rules, or from the GPU readings. */
export type Sense<T> =
  | {
      readonly kind: 'host';
      readonly read: (host: HostActivity, signal: AbortSignal) => Promise<T>;
    }
  | { readonly kind: 'gpus'; readonly read: (devices: readonly GpuDevice[]) => T };

export const SENSES: { readonly [Name in keyof Signals]: Sense<Signals[Name]> } = {
  userIdleMs: { kind: 'host', read: (host, signal) => host.userIdleMs(signal) },
  isOnBattery: { kind: 'host', read: (host, signal) => host.isOnBattery(signal) },
  gpuTemperatureC: {
    kind: 'gpus',
    read: (devices) => highest(devices.map(({ temperatureC }) => temperatureC)),
  },
  gpuUtilPercent: {
    kind: 'gpus',
    read: (devices) => highest(devices.map(({ utilGpu }) => utilGpu)),
  },
};

function highest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

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

/** One rule that pauses a machine which is on; `Value` is the type of its setting. */
interface RuleDefinition<Key extends string, Value> {
  /** Name of its setting in section `agent`. */
  readonly key: Key;
  /** The setting's value while the rule is switched off; `holds` is not called then. */
  readonly off: Value;
  readonly senses: keyof Signals;
  /** Whether another program has a use for the memory while it holds. */
  readonly frees: boolean;
  holds(value: Value, seen: Observation, past: Past): boolean;
  /** Why the machine is paused, human-readable. */
  says(value: Value): string;
}

interface OwnerRule<Key extends string, Value> extends Pick<
  RuleDefinition<Key, Value>,
  'key' | 'off' | 'senses' | 'frees'
> {
  isSet(rules: Readonly<Record<Key, Value>>): boolean;
  holds(rules: Readonly<Record<Key, Value>>, seen: Observation, past: Past): boolean;
  says(rules: Readonly<Record<Key, Value>>): string;
}

function ownerRule<const Key extends string, Value>(
  rule: RuleDefinition<Key, Value>,
): OwnerRule<Key, Value> {
  const { key, off, senses, frees } = rule;
  const isSet = (rules: Readonly<Record<Key, Value>>) => rules[key] !== off;
  return {
    key,
    off,
    senses,
    frees,
    isSet,
    holds: (rules, seen, past) => isSet(rules) && rule.holds(rules[key], seen, past),
    says: (rules) => rule.says(rules[key]),
  };
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
export const OWNER_RULES = [
  ownerRule<'onlyWhenIdle', boolean>({
    key: 'onlyWhenIdle',
    off: false,
    senses: 'userIdleMs',
    frees: true,
    holds: (_on, { userIdleMs }) => userIdleMs !== null && userIdleMs < IDLE_MS,
    says: () => 'Someone is using this machine, and it serves only while no one does.',
  }),
  ownerRule<'notOnBattery', boolean>({
    key: 'notOnBattery',
    off: false,
    senses: 'isOnBattery',
    frees: true,
    holds: (_on, { isOnBattery }) => isOnBattery === true,
    says: () => 'This machine runs on battery.',
  }),
  ownerRule<'maxGpuTemperatureC', number | null>({
    key: 'maxGpuTemperatureC',
    off: null,
    senses: 'gpuTemperatureC',
    frees: false,
    holds(limit, { gpuTemperatureC }, { held }) {
      if (limit === null || gpuTemperatureC === null) return false;
      return gpuTemperatureC >= (held ? limit - COOLED_BY_C : limit);
    },
    says: (limit) =>
      `A GPU is at ${limit ?? 0} °C or more; it resumes ${COOLED_BY_C} °C below that.`,
  }),
  ownerRule<'yieldToOthers', boolean>({
    key: 'yieldToOthers',
    off: false,
    senses: 'gpuUtilPercent',
    frees: true,
    holds(_on, { ticks, gpuUtilPercent }, { held, gpuPhase }) {
      if (gpuUtilPercent === null) return false;
      const lastedMs = gpuPhase === null ? 0 : ticks - gpuPhase.sinceTicks;
      if (held) return !(gpuPhase?.kind === 'quiet' && lastedMs >= QUIET_MS);
      return gpuPhase?.kind === 'busy' && lastedMs >= BUSY_MS;
    },
    says: () => 'Another program uses the GPU.',
  }),
] as const;

type AnyOwnerRule = (typeof OWNER_RULES)[number];

export type OwnerRules = { readonly [Rule in AnyOwnerRule as Rule['key']]: Rule['off'] };
export type OwnerRuleKey = keyof OwnerRules;

export const OWNER_RULE_KEYS: readonly OwnerRuleKey[] = OWNER_RULES.map(({ key }) => key);

export const NO_RULES: OwnerRules = rulesFrom(({ off }) => off);

/** Picks the rules from the settings of section `agent`, of which others are secret. */
export function rulesIn(settings: OwnerRules): OwnerRules {
  return rulesFrom(({ key }) => settings[key]);
}

function rulesFrom(valueOf: (rule: AnyOwnerRule) => OwnerRules[OwnerRuleKey]): OwnerRules {
  // Built from the same list as the type.
  return Object.fromEntries(OWNER_RULES.map((rule) => [rule.key, valueOf(rule)])) as OwnerRules;
}

/** Since when the GPU has been busy although nothing is served, or quiet again; null: neither, or unknown. */
export type GpuPhase = { readonly kind: 'busy' | 'quiet'; readonly sinceTicks: number } | null;

/** While this machine serves, a busy GPU says nothing about other programs. */
export function gpuPhaseAfter(before: GpuPhase, seen: Observation): GpuPhase {
  const { gpuUtilPercent: util, isServing, ticks } = seen;
  if (util === null || isServing) return null;
  if (util >= BUSY_PERCENT)
    return before?.kind === 'busy' ? before : { kind: 'busy', sinceTicks: ticks };
  if (util > QUIET_PERCENT) return null;
  return before?.kind === 'quiet' ? before : { kind: 'quiet', sinceTicks: ticks };
}
