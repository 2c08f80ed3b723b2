import type { HistoryRange } from '#shared/usage.ts';
import { dayOf, monthOf } from '../../platform/dates.ts';
import type { HistoryQuery, UsageSpan } from './messages.ts';

export const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface Steps {
  readonly span: UsageSpan;
  readonly stepMs: number;
  /** Rows are summed over steps of this length; not days, which may have 23 or 25 hours. */
  readonly groupMs: number;
  readonly from: (now: number) => number;
}

/** The start of the first of `steps`, of which the last is the current one. */
const back = (stepMs: number, steps: number) => (now: number) =>
  now - (now % stepMs) - (steps - 1) * stepMs;

const STEPS: Readonly<Record<HistoryRange, Steps>> = {
  hour: { span: 'minute', stepMs: 60_000, groupMs: 60_000, from: back(60_000, 60) },
  day: { span: 'minute', stepMs: 900_000, groupMs: 900_000, from: back(900_000, 96) },
  week: { span: 'hour', stepMs: HOUR_MS, groupMs: HOUR_MS, from: back(HOUR_MS, 168) },
  month: {
    span: 'day',
    stepMs: DAY_MS,
    groupMs: 1,
    from: (now) => dayOf(now, -29),
  },
};

export function queryOf(range: HistoryRange, now: number): HistoryQuery {
  const { from, ...steps } = STEPS[range];
  return { ...steps, from: from(now), dayFrom: dayOf(now), monthFrom: monthOf(now) };
}
