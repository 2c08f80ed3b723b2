import type { UpstreamId } from '#shared/ids.ts';
import { KEY_LIMIT_NAMES, KEY_LIMITS, type KeyLimitName } from '#shared/keys.ts';
import { WARNED_SHARE } from '#shared/usage.ts';
import type { Config } from '../../config/schema.ts';
import { type Clock, dayOf, monthOf } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { DaySum, UsageBefore } from './queries.ts';

/** A limit for the current day or month, and how much of it is used; money in billionths of the currency. */
export interface LimitAt {
  readonly period: Period;
  readonly limit: number;
  readonly used: number;
  /** When the next period begins, in wall-clock milliseconds. */
  readonly until: number;
}

export const isUsedUp = ({ limit, used }: LimitAt) => used >= limit;

/** What upstreams have cost in the current day and month, and what they may cost. */
export type Budgets = ReturnType<typeof createBudgets>;

export function createBudgets(
  before: readonly DaySum[],
  deps: {
    readonly clock: Clock;
    readonly config: () => Config;
    readonly log: Log;
    /** Called when a budget is used up, or nearly. */
    readonly changed: () => void;
  },
) {
  const { clock, config, log, changed } = deps;
  const sums = createPeriodSums(clock, before);

  function budgetsOf(id: UpstreamId, settings = config()): readonly LimitAt[] {
    if (id === 'local') return [];
    const { budgetDay: day, budgetMonth: month } = settings[id];
    return PERIODS.flatMap((period) => {
      const limit = { day, month }[period];
      return limit === null ? [] : sums.at(id, period, limit * 1e9);
    });
  }

  return {
    /** Adds the cost of a call of the upstream. */
    spent(id: UpstreamId, nano: number) {
      sums.add(id, nano);
      for (const budget of budgetsOf(id)) {
        const { period } = budget;
        const passed = passedBy(nano, budget);
        if (passed === null) continue;
        if (passed === 'limit') log('warn', 'budget_spent', { upstream: id, period });
        else log('warn', 'budget_nearly_spent', { upstream: id, period, share: WARNED_SHARE });
        changed();
      }
    },
    /** Two upstreams have changed places. */
    swap: (one: UpstreamId, other: UpstreamId) => sums.swap(one, other),
    /** Whether a budget that `config` sets for the upstream is used up. */
    isSpent: (id: UpstreamId, settings: Config) => budgetsOf(id, settings).some(isUsedUp),
    of: (id: UpstreamId) => budgetsOf(id),
    /** The budget with the largest share spent; null if none is set. */
    at: (id: UpstreamId) => mostUsed(budgetsOf(id)),
  };
}

const shareOf = ({ limit, used }: LimitAt) => (limit === 0 ? Infinity : used / limit);

/** The limit with the largest share used, of several that are used up the one that ends last; null if there are none. */
function mostUsed<Limit extends LimitAt>(limits: readonly Limit[]): Limit | null {
  const byShare = (a: Limit, b: Limit) =>
    isUsedUp(a) && isUsedUp(b) ? a.until - b.until : shareOf(a) - shareOf(b);
  return limits.toSorted(byShare).at(-1) ?? null;
}

/** A limit of a key. */
export interface KeyLimitAt extends LimitAt {
  readonly key: string;
  readonly name: KeyLimitName;
  readonly of: 'requests' | 'tokens';
}

/** What the keys of apps have used in the current day and month, and what they may use. Counted by key name. */
export type KeyLimits = ReturnType<typeof createKeyLimits>;

export function createKeyLimits(
  { keyRequests, keyTokens }: UsageBefore,
  deps: {
    readonly clock: Clock;
    readonly limitsOf: (key: string) => Readonly<Partial<Record<KeyLimitName, number>>>;
    readonly log: Log;
  },
) {
  const { clock, limitsOf, log } = deps;
  // Counted for keys without a limit, too: a limit that is set later counts from the beginning of its period.
  const sums = {
    requests: createPeriodSums(clock, keyRequests),
    tokens: createPeriodSums(clock, keyTokens),
  };

  function at(key: string): readonly KeyLimitAt[] {
    const limits = limitsOf(key);
    return KEY_LIMIT_NAMES.flatMap((name) => {
      const limit = limits[name];
      if (limit === undefined) return [];
      const { of, period } = KEY_LIMITS[name];
      return { key, name, of, ...sums[of].at(key, period, limit) };
    });
  }

  function count(of: KeyLimitAt['of'], key: string, amount: number): void {
    if (amount === 0) return;
    sums[of].add(key, amount);
    for (const each of at(key)) {
      const passed = each.of === of ? passedBy(amount, each) : null;
      if (passed === null) continue;
      const event = passed === 'limit' ? 'key_limit_reached' : 'key_limit_nearly_reached';
      log('warn', event, { name: key, of, period: each.period, limit: each.limit });
    }
  }

  return {
    /** A request with the key begins. */
    requested: (key: string) => count('requests', key, 1),
    used: (key: string, tokens: number) => count('tokens', key, tokens),
    of: at,
    /** The limit that the key has reached, of several the one that resets last; null if it may call. */
    reached(key: string) {
      const most = mostUsed(at(key));
      return most !== null && isUsedUp(most) ? most : null;
    },
  };
}

/** The threshold that the last `amount` crossed: the limit, or the share of it from which a warning is logged. */
function passedBy(amount: number, { used, limit }: LimitAt): 'limit' | 'share' | null {
  const passes = (mark: number) => used >= mark && used - amount < mark;
  if (passes(limit)) return 'limit';
  return passes(WARNED_SHARE * limit) ? 'share' : null;
}

const PERIODS = ['day', 'month'] as const;

type Period = (typeof PERIODS)[number];

const START_OF = { day: dayOf, month: monthOf } as const;
/** Leads from the start of a period to some time in the next one. */
const LATER_MS = { day: 36 * 3_600_000, month: 32 * 24 * 3_600_000 } as const;

/** More than two months have; of each name so many are kept. */
const MAX_DAYS = 64;

/**
 * Sums for each name over the current day and month by this machine's clock. They are kept by day, because a clock may be
 * wrong when the gateway starts, and be set to another month later.
 */
function createPeriodSums(clock: Clock, before: readonly DaySum[]) {
  const sums = new Map<string, Map<number, number>>();
  for (const { name, day, sum } of before) addAt(name, day, sum);

  function addAt(name: string, day: number, amount: number): void {
    const days = sums.get(name) ?? new Map<number, number>();
    sums.set(name, days);
    days.set(day, (days.get(day) ?? 0) + amount);
    const [first] = days.keys();
    if (days.size > MAX_DAYS && first !== undefined) days.delete(first);
  }

  return {
    swap(one: string, other: string): void {
      const ofOne = sums.get(one) ?? new Map<number, number>();
      sums.set(one, sums.get(other) ?? new Map<number, number>()).set(other, ofOne);
    },
    add: (name: string, amount: number) => addAt(name, dayOf(clock.now()), amount),
    at(name: string, period: Period, limit: number): LimitAt {
      const from = START_OF[period](clock.now());
      const until = START_OF[period](from + LATER_MS[period]);
      let used = 0;
      for (const [day, sum] of sums.get(name) ?? []) if (day >= from && day < until) used += sum;
      return { period, limit, used, until };
    },
  };
}
