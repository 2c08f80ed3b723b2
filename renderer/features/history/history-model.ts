import type { OutcomeCounts } from '#shared/live.ts';
import type { HistoryRange, HistoryReport, UsageFigures } from '#shared/usage.ts';
import { formatCompact, formatDuration, formatMoney } from '../../text/format.ts';

/** Changes whenever the history does: what it counts is written when a request ends. */
export const endedIn = ({ ended }: OutcomeCounts): number =>
  ended['first-choice'] + ended['fell-back'] + ended.failed;

export interface Measure {
  readonly id: string;
  readonly label: string;
  /** Null if a step has no value. */
  readonly of: (figures: UsageFigures) => number | null;
  readonly text: (value: number) => string;
}

/** Mean time to first token in milliseconds; null without a measurement. */
export const firstTokenMs = (of: Pick<UsageFigures, 'firstTokenMs' | 'firstTokens'>) =>
  of.firstTokens === 0 ? null : of.firstTokenMs / of.firstTokens;

/** What is drawn and listed by time. Without a price, money is unknown and not zero. */
export function measuresOf(report: HistoryReport): readonly Measure[] {
  const money = (nano: number) => formatMoney(nano, report.currency);
  return [
    { id: 'requests', label: 'Requests', of: ({ calls }) => calls, text: formatCompact },
    { id: 'fallbacks', label: 'Fallbacks', of: ({ fallbacks }) => fallbacks, text: formatCompact },
    { id: 'failed', label: 'Failed', of: ({ failures }) => failures, text: formatCompact },
    { id: 'input', label: 'Tokens in', of: ({ inputTokens }) => inputTokens, text: formatCompact },
    {
      id: 'output',
      label: 'Tokens out',
      of: ({ outputTokens }) => outputTokens,
      text: formatCompact,
    },
    { id: 'first', label: 'Time to first token', of: firstTokenMs, text: formatDuration },
    ...(hasPrices(report)
      ? [
          {
            id: 'spent',
            label: 'Spent',
            of: ({ spentNano }: UsageFigures) => spentNano,
            text: money,
          },
          { id: 'saved', label: 'Saved', of: netSavedNano, text: money },
        ]
      : []),
  ];
}

/** Whether anything has a price: without one, costs are unknown and not zero. */
export function hasPrices({ parts, thisMonth }: HistoryReport): boolean {
  const all = [thisMonth, ...parts.map(({ figures }) => figures)];
  return all.some(({ spentNano, savedNano }) => spentNano + savedNano > 0);
}

/** A bar of a graph, in shares of its width and height. */
export interface Bar {
  readonly at: number;
  readonly value: number;
  readonly x: number;
  readonly width: number;
  readonly height: number;
  /** Where it begins above the axis, if others are below it. */
  readonly base?: number;
  /** What gives it its colour; without it, all have the same. */
  readonly layer?: string;
  /** Shown at the pointer. */
  readonly title?: string;
}

/** Steps without a value have no bar. */
export function barsOf(report: HistoryReport, of: Measure['of']): readonly Bar[] {
  const values = valuesOf(report, of);
  return barsUpTo(report, values, peakOf(values));
}

export const peakOf = (values: readonly ValueAt[]): number =>
  Math.max(0, ...values.map(({ value }) => value));

interface ValueAt {
  readonly at: number;
  readonly value: number;
}

export function valuesOf({ points }: HistoryReport, of: Measure['of']): readonly ValueAt[] {
  return points.flatMap(({ at, figures }) => {
    const value = of(figures);
    return value === null || value <= 0 ? [] : [{ at, value }];
  });
}

export function barsUpTo(
  { from, to, stepMs }: HistoryReport,
  values: readonly ValueAt[],
  max: number,
): readonly Bar[] {
  const steps = Math.max(1, Math.ceil((to - from) / stepMs));
  return values.map(({ at, value }) => ({
    at,
    value,
    // Rounded, because days with a clock change have another length.
    x: Math.round((at - from) / stepMs) / steps,
    width: 1 / steps,
    height: value / max,
  }));
}

const TIME = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' });
const WEEKDAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short' });
const DAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' });

/** The next of 2, 4, 6, 8, 10, 20 … that is not below the value, so that an axis has round numbers. */
export function niceMax(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  // Each is even, because its half is marked as well, and there are no half requests.
  const factor = [2, 4, 6, 8, 10].find((each) => each * power >= value) ?? 10;
  return factor * power;
}

/** The range to open with: the shortest that shows more than its last bar; the longest that has anything. */
export function bestRange(day: Pick<HistoryReport, 'points' | 'to'>): HistoryRange {
  const oldest = day.points[0]?.at;
  if (oldest === undefined) return 'month';
  return day.to - oldest <= HOUR_MS ? 'hour' : 'day';
}

const HOUR_MS = 3_600_000;

/** Start of a step: `14:30`, `Mon 14:30`, `Mon, 23 Nov, 14:00`, `Mon, 23 Nov`. */
export function stepText({ range }: Pick<HistoryReport, 'range'>, at: number): string {
  if (range === 'month') return DAY.format(at);
  if (range === 'week') return `${DAY.format(at)}, ${TIME.format(at)}`;
  // A day reaches back into the day before.
  return range === 'day' ? `${WEEKDAY.format(at)} ${TIME.format(at)}` : TIME.format(at);
}

/** What local answers saved, less their electricity as far as it is known; negative if they cost more. */
export const netSavedNano = ({ savedNano, energyNano }: UsageFigures): number =>
  savedNano - energyNano;
