import type { UpstreamId } from '#shared/ids.ts';
import { WARNED_SHARE } from '#shared/usage.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import { dayOf, monthOf } from '../../platform/dates.ts';
import type { Log } from '../../platform/log.ts';

const PERIODS = ['day', 'month'] as const;

type Period = (typeof PERIODS)[number];

/** A limit of an upstream and what has been spent of it; money in billionths. */
export interface BudgetAt {
  readonly period: Period;
  readonly limitNano: number;
  readonly spentNano: number;
  /** When the next period begins, in wall-clock milliseconds. */
  readonly until: number;
}

/** What upstreams have cost in the running day and month, and what they may. */
export interface Budgets {
  /** A call of the upstream has cost so much. */
  spent(id: UpstreamId, nano: number): void;
  /** A budget of the upstream is used up. */
  isSpent(id: UpstreamId): boolean;
  /** The budget of which the largest share is spent; null without any. */
  at(id: UpstreamId): BudgetAt | null;
}

/** What an upstream has cost before the start. */
export interface SpentRow {
  readonly upstream: string;
  readonly dayNano: number;
  readonly monthNano: number;
}

const START_OF = { day: dayOf, month: monthOf } as const;
/** Any time in the next period. */
const LATER_MS = { day: 36 * 3_600_000, month: 32 * 24 * 3_600_000 } as const;

export function createBudgets(
  rows: readonly SpentRow[],
  {
    clock,
    config,
    log,
    changed,
  }: {
    readonly clock: Clock;
    readonly config: () => Config;
    readonly log: Log;
    /** A budget was used up. */
    readonly changed: () => void;
  },
): Budgets {
  const startsAt = { day: dayOf(clock.now()), month: monthOf(clock.now()) };
  const sums = { day: new Map<string, number>(), month: new Map<string, number>() };
  for (const { upstream, dayNano, monthNano } of rows) {
    sums.day.set(upstream, dayNano);
    sums.month.set(upstream, monthNano);
  }

  function sumsOf(period: Period): Map<string, number> {
    const start = START_OF[period](clock.now());
    if (start !== startsAt[period]) sums[period].clear();
    startsAt[period] = start;
    return sums[period];
  }

  function limitOf(id: UpstreamId, period: Period): number | null {
    if (id === 'local') return null;
    const { budgetDay, budgetMonth } = config()[id];
    const limit = period === 'day' ? budgetDay : budgetMonth;
    return limit === null ? null : limit * 1e9;
  }

  function budgetsOf(id: UpstreamId): readonly BudgetAt[] {
    return PERIODS.flatMap((period) => {
      const limitNano = limitOf(id, period);
      if (limitNano === null) return [];
      const spentNano = sumsOf(period).get(id) ?? 0;
      const until = START_OF[period](startsAt[period] + LATER_MS[period]);
      return [{ period, limitNano, spentNano, until }];
    });
  }

  function warn(id: UpstreamId, { period, limitNano, spentNano }: BudgetAt, nano: number): void {
    const passes = (mark: number) => spentNano >= mark && spentNano - nano < mark;
    if (passes(limitNano)) {
      log('warn', 'budget_spent', { upstream: id, period });
      changed();
    } else if (passes(WARNED_SHARE * limitNano)) {
      log('warn', 'budget_nearly_spent', { upstream: id, period, share: WARNED_SHARE });
    }
  }

  return {
    spent(id, nano) {
      if (nano === 0) return;
      for (const period of PERIODS) {
        const of = sumsOf(period);
        of.set(id, (of.get(id) ?? 0) + nano);
      }
      for (const budget of budgetsOf(id)) warn(id, budget, nano);
    },
    isSpent: (id) =>
      PERIODS.some((period) => {
        const limitNano = limitOf(id, period);
        return limitNano !== null && (sumsOf(period).get(id) ?? 0) >= limitNano;
      }),
    at: (id) => budgetsOf(id).toSorted(byNeed).at(-1) ?? null,
  };
}

export const isUsedUp = ({ limitNano, spentNano }: BudgetAt) => spentNano >= limitNano;

const shareOf = ({ limitNano, spentNano }: BudgetAt) =>
  limitNano === 0 ? Infinity : spentNano / limitNano;

/** Of two that are used up, the one that ends later comes last. */
function byNeed(a: BudgetAt, b: BudgetAt): number {
  if (isUsedUp(a) && isUsedUp(b)) return a.until - b.until;
  return shareOf(a) - shareOf(b);
}
