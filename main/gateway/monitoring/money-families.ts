import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { StatusReport, UpstreamReport } from '#shared/status.ts';
import type { BudgetAt, KeyLimitAt } from '../usage/limits.ts';
import { type Family, family, type Point } from './exposition.ts';
import type { TrafficView } from './traffic.ts';

export interface MoneyFigures {
  readonly status: StatusReport;
  readonly traffic: TrafficView;
  readonly budgetsOf: (id: UpstreamId) => readonly BudgetAt[];
  readonly keyLimits: readonly KeyLimitAt[];
  readonly currency: string;
}

const IN_CURRENCY = 'in the currency of switchyard_currency_info';
const UNIT_NANO = 1e9;

/** The local pool costs nothing in the gateway's accounting. */
const PAID = UPSTREAM_IDS.filter((id) => id !== 'local');

/** Prometheus has no unit for money: an info metric names the currency, so that the counters' labels stay the same. */
export function moneyFamilies({ status, traffic, ...limits }: MoneyFigures): Family[] {
  const budgets = PAID.flatMap((upstream) =>
    limits.budgetsOf(upstream).map((at) => ({ ...at, upstream })),
  );
  const eachBudget = (name: string, help: string, nanoOf: (at: BudgetAt) => number) => {
    const points = budgets.map(({ upstream, ...at }): Point => [
      { upstream, period: at.period },
      nanoOf(at) / UNIT_NANO,
    ]);
    return family('gauge', `switchyard_budget_${name}`, `${help}, ${IN_CURRENCY}.`, points);
  };
  const spent = PAID.map((upstream): Point => [
    { upstream },
    traffic.upstreams[upstream].spentNano / UNIT_NANO,
  ]);
  return [
    family('counter', 'switchyard_spent_total', `What calls have cost, ${IN_CURRENCY}.`, spent),
    family(
      'counter',
      'switchyard_saved_total',
      `What the tokens of the local tier would have cost, ${IN_CURRENCY}.`,
      [[{}, traffic.savedNano / UNIT_NANO]],
    ),
    eachBudget('limit', 'Budget for the current period', ({ limitNano }) => limitNano),
    eachBudget('spent', 'Spent of the budget', ({ spentNano }) => spentNano),
    family(
      'gauge',
      'switchyard_budget_spent_ratio',
      'Share of the budget that is spent; of two budgets, the one with the larger share.',
      status.upstreams.map(({ id, budget }): Point => [
        { upstream: id },
        budget === undefined ? null : spentShare(budget),
      ]),
    ),
    family(
      'gauge',
      'switchyard_key_limit_used_ratio',
      'Share of a limit of a key that is used.',
      limits.keyLimits.map(({ key, of, period, used, limit }): Point => [
        { key, type: of, period },
        used / limit,
      ]),
    ),
    family('gauge', 'switchyard_currency_info', 'Always 1, with the currency of all amounts.', [
      [{ currency: limits.currency }, 1],
    ]),
  ];
}

/** A budget of zero is used up. */
function spentShare({ spent, limit }: NonNullable<UpstreamReport['budget']>): number {
  return limit === 0 ? 1 : spent / limit;
}
