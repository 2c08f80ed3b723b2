import type { UpstreamId } from '#shared/ids.ts';
import { WARNED_SHARE } from '#shared/usage.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { createPeriodSums, type Period, PERIODS, type PeriodSum } from './period-sums.ts';

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
  /** Those that are set. */
  of(id: UpstreamId): readonly BudgetAt[];
  /** The budget of which the largest share is spent; null without any. */
  at(id: UpstreamId): BudgetAt | null;
}

export function createBudgets(
  before: readonly PeriodSum[],
  {
    clock,
    config,
    log,
    changed,
  }: {
    readonly clock: Clock;
    readonly config: () => Config;
    readonly log: Log;
    /** A budget is used up, or nearly. */
    readonly changed: () => void;
  },
): Budgets {
  const sums = createPeriodSums(clock, before);

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
      return [{ period, limitNano, spentNano: sums.of(id, period), until: sums.endsAt(period) }];
    });
  }

  function warn(id: UpstreamId, { period, limitNano, spentNano }: BudgetAt, nano: number): void {
    const passes = (mark: number) => spentNano >= mark && spentNano - nano < mark;
    if (passes(limitNano)) {
      log('warn', 'budget_spent', { upstream: id, period });
      changed();
    } else if (passes(WARNED_SHARE * limitNano)) {
      log('warn', 'budget_nearly_spent', { upstream: id, period, share: WARNED_SHARE });
      changed();
    }
  }

  return {
    spent(id, nano) {
      if (nano === 0) return;
      sums.add(id, nano);
      for (const budget of budgetsOf(id)) warn(id, budget, nano);
    },
    isSpent: (id) =>
      PERIODS.some((period) => {
        const limitNano = limitOf(id, period);
        return limitNano !== null && sums.of(id, period) >= limitNano;
      }),
    of: budgetsOf,
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
