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

/** What upstreams have cost in the running day and month, and what they may cost. */
export interface Budgets {
  /** Adds the cost of a call of the upstream. */
  spent(id: UpstreamId, nano: number): void;
  /** A budget of the upstream is used up. */
  isSpent(id: UpstreamId): boolean;
  /** Those that are set. */
  of(id: UpstreamId): readonly BudgetAt[];
  /** The budget of which the largest share is spent; null without any. */
  at(id: UpstreamId): BudgetAt | null;
}

const NONE: readonly BudgetAt[] = [];

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

  function budgetsOf(id: UpstreamId): readonly BudgetAt[] {
    if (id === 'local') return NONE;
    const { budgetDay: day, budgetMonth: month } = config()[id];
    if (day === null && month === null) return NONE;
    return PERIODS.flatMap((period) => {
      const limit = { day, month }[period];
      if (limit === null) return NONE;
      const until = sums.endsAt(period);
      return { period, limitNano: limit * 1e9, spentNano: sums.of(id, period), until };
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
    isSpent: (id) => budgetsOf(id).some(isUsedUp),
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
