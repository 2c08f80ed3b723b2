import type { Clock } from '../../platform/clock.ts';
import { dayOf, monthOf } from '../../platform/dates.ts';

export const PERIODS = ['day', 'month'] as const;

export type Period = (typeof PERIODS)[number];

/** A sum for each name, over the current day and the current month by this machine's clock. */
export interface PeriodSums {
  add(name: string, amount: number): void;
  of(name: string, period: Period): number;
  /** When the next period begins, in wall-clock milliseconds. */
  endsAt(period: Period): number;
}

/** Sums from an earlier run. */
export interface PeriodSum extends Readonly<Record<Period, number>> {
  readonly name: string;
}

const START_OF = { day: dayOf, month: monthOf } as const;
/** Leads from the start of a period to some time in the next one. */
const LATER_MS = { day: 36 * 3_600_000, month: 32 * 24 * 3_600_000 } as const;

export function createPeriodSums(clock: Clock, before: readonly PeriodSum[]): PeriodSums {
  const sums = new Map(before.map(({ name, day, month }) => [name, { day, month }]));
  let current = { day: boundsAt('day', clock.now()), month: boundsAt('month', clock.now()) };

  /** Most calls end here: a month ends together with a day. */
  function isCurrent(): boolean {
    const now = clock.now();
    return now >= current.day.from && now < current.day.to;
  }

  function renew(): void {
    if (isCurrent()) return;
    const now = clock.now();
    const next = { day: boundsAt('day', now), month: boundsAt('month', now) };
    for (const period of PERIODS) {
      if (next[period].from === current[period].from) continue;
      for (const sum of sums.values()) sum[period] = 0;
    }
    current = next;
  }

  return {
    add(name, amount) {
      renew();
      const sum = sums.get(name);
      if (sum === undefined) {
        sums.set(name, { day: amount, month: amount });
        return;
      }
      sum.day += amount;
      sum.month += amount;
    },
    of(name, period) {
      renew();
      return sums.get(name)?.[period] ?? 0;
    },
    endsAt(period) {
      renew();
      return current[period].to;
    },
  };
}

function boundsAt(period: Period, now: number): { readonly from: number; readonly to: number } {
  const from = START_OF[period](now);
  return { from, to: START_OF[period](from + LATER_MS[period]) };
}
