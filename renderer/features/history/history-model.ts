import type { HistoryRange, HistoryReport, UsageFigures } from '#shared/usage.ts';
import { formatCompact, formatDuration } from '../../text/format.ts';
import type * as t from '../../text/t.ts';

export const STACKS = ['upstream', 'model'] as const;

export type Stack = (typeof STACKS)[number];

export interface Measure {
  readonly id: keyof typeof t.history.measures;
  /** Null if a step has no value. */
  readonly of: (figures: UsageFigures) => number | null;
  readonly text: (value: number) => string;
}

/** Mean time to first token in milliseconds; null without a measurement. */
export const firstTokenMs = (of: Pick<UsageFigures, 'firstTokenMs' | 'firstTokens'>) =>
  of.firstTokens === 0 ? null : of.firstTokenMs / of.firstTokens;

export const tokensPerSecond = ({ timedTokens, outputMs }: UsageFigures): number | null =>
  outputMs === 0 ? null : (1000 * timedTokens) / outputMs;

/** Tokens per second: `8.4`, `228`. */
export const rateText = (value: number): string =>
  value > 0 && value < 10 ? value.toFixed(1) : formatCompact(Math.round(value));

export const MEASURES: readonly Measure[] = [
  { id: 'requests', of: ({ calls }) => calls, text: formatCompact },
  { id: 'fallbacks', of: ({ fallbacks }) => fallbacks, text: formatCompact },
  { id: 'failures', of: ({ failures }) => failures, text: formatCompact },
  { id: 'first', of: firstTokenMs, text: formatDuration },
  { id: 'input', of: ({ inputTokens }) => inputTokens, text: formatCompact },
  { id: 'reused', of: ({ cachedTokens }) => cachedTokens, text: formatCompact },
  { id: 'output', of: ({ outputTokens }) => outputTokens, text: formatCompact },
  { id: 'speed', of: tokensPerSecond, text: rateText },
];

/** Of a graph, in shares of its width and height. */
export interface Bar {
  readonly at: number;
  readonly value: number;
  readonly x: number;
  readonly width: number;
  readonly height: number;
  /** Where it begins above the axis, if others are below it. */
  readonly base?: number;
  /** What colours it; without it, all have one colour. */
  readonly layer?: string;
  /** Shown at the pointer. */
  readonly title?: string;
}

/** Steps without a value have no bar. */
export function barsOf(report: HistoryReport, of: Measure['of']): readonly Bar[] {
  const values = valuesOf(report.points, of);
  return barsUpTo(report, values, peakOf(values));
}

export const peakOf = (values: readonly ValueAt[]): number =>
  Math.max(0, ...values.map(({ value }) => value));

interface ValueAt {
  readonly at: number;
  readonly value: number;
}

export function valuesOf<F>(
  points: readonly { readonly at: number; readonly figures: F }[],
  of: (figures: F) => number | null,
): readonly ValueAt[] {
  return points.flatMap(({ at, figures }) => {
    const value = of(figures);
    return value === null || value === 0 ? [] : [{ at, value }];
  });
}

type Steps = Pick<HistoryReport, 'from' | 'to' | 'stepMs'>;

export const stepCount = ({ from, to, stepMs }: Steps) =>
  Math.max(1, Math.ceil((to - from) / stepMs));

/** Rounded, because days with a clock change have another length. */
export const stepOf = ({ from, stepMs }: Steps, at: number) => Math.round((at - from) / stepMs);

export function barsUpTo(report: Steps, values: readonly ValueAt[], max: number): readonly Bar[] {
  const steps = stepCount(report);
  return values.map(({ at, value }) => ({
    at,
    value,
    x: stepOf(report, at) / steps,
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
  // Each is even, as its half is marked as well, and of requests there is no half.
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

/** The half and the 95th in a hundred of the values; null without any. */
export function percentiles(values: readonly number[]) {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return { p50: at(0.5), p95: at(0.95) };
}

/** Start of a step: `14:30`, `Mon 14:30`, `Mon, 23 Nov, 14:00`, `Mon, 23 Nov`. */
export function stepText({ range }: Pick<HistoryReport, 'range'>, at: number): string {
  if (range === 'month') return DAY.format(at);
  if (range === 'week') return `${DAY.format(at)}, ${TIME.format(at)}`;
  // A day reaches back into the day before.
  return range === 'day' ? `${WEEKDAY.format(at)} ${TIME.format(at)}` : TIME.format(at);
}

/** `< 0.0001 EUR`, `0.0064 EUR`, `12.30 EUR`. */
export function moneyText(nano: number, currency: string): string {
  const amount = nano / 1e9;
  if (amount > 0 && amount < LEAST_SHOWN) return `< ${LEAST_SHOWN} ${currency}`;
  const digits = amount !== 0 && Math.abs(amount) < 1 ? 4 : 2;
  return `${amount.toFixed(digits)} ${currency}`;
}

const LEAST_SHOWN = 0.0001;

/** What local answers saved, less their electricity as far as it is known; negative if they cost more. */
export const netSavedNano = ({ savedNano, energyNano }: UsageFigures): number =>
  savedNano - energyNano;

const MJ_PER_KWH = 3_600_000_000;

export const kwhOf = ({ energyMj }: UsageFigures): number => energyMj / MJ_PER_KWH;
