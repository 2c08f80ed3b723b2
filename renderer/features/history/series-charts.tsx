import { type PointerEvent, useId, useState } from 'react';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import { distinctNames, unknownMachine } from '#shared/machine-names.ts';
import { type HistoryReport, MACHINE_FIGURES, type MachineFigures } from '#shared/usage.ts';
import { formatCompact, formatDuration } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import {
  type Bar,
  barsUpTo,
  firstTokenMs,
  peakOf,
  stepCount,
  stepOf,
  stepText,
  valuesOf,
} from './history-model.ts';
import { BarGraph } from './plot.tsx';

const words = t.history;

interface SeriesProps {
  readonly report: HistoryReport;
  readonly series: readonly Series[];
}

/** A row of bars for each upstream or machine on a common scale, identified by name rather than colour. */
export function SeriesCharts({ title, ...props }: SeriesProps & { readonly title: string }) {
  const id = useId();
  if (props.series.length === 0) return null;
  return (
    <section aria-labelledby={id}>
      <h2 id={id} className="series-title">
        {title}
      </h2>
      <div className="charts series-charts">
        {measuresOf(props.series).map((measure) => (
          <SeriesChart key={measure.id} {...props} measure={measure} />
        ))}
      </div>
    </section>
  );
}

interface SeriesChartProps extends SeriesProps {
  readonly measure: SeriesMeasure;
}

function SeriesChart({ report, series, measure }: SeriesChartProps) {
  const [step, setStep] = useState<number | null>(null);
  const steps = stepCount(report);
  const point = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const pointed = Math.floor(((clientX - left) / width) * steps);
    setStep(Math.max(0, Math.min(steps - 1, pointed)));
  };
  return (
    <figure className="chart series" onPointerLeave={() => setStep(null)}>
      <figcaption>
        {words.seriesMeasures[measure.id]}
        <span className="chart-max">
          {step === null
            ? words.wholeRange[measure.id]
            : stepText(report, report.from + step * report.stepMs)}
        </span>
      </figcaption>
      <dl>
        {seriesRows(report, series, measure).map((row) => (
          <div key={row.id}>
            <dt className="two-lines" title={row.name}>
              {row.name}
            </dt>
            <dd onPointerMove={point}>
              <BarGraph bars={row.bars} label={row.label} />
            </dd>
            <dd>{step === null ? row.total : rowTextAt(report, row, step, measure)}</dd>
          </div>
        ))}
      </dl>
    </figure>
  );
}

interface Series {
  readonly id: string;
  readonly name: string;
  readonly points: readonly { readonly at: number; readonly figures: MachineFigures }[];
}

interface SeriesMeasure {
  readonly id: keyof typeof words.seriesMeasures;
  readonly of: (figures: MachineFigures) => number | null;
  readonly text: (value: number) => string;
}

export const SERIES_MEASURES: readonly SeriesMeasure[] = [
  { id: 'calls', of: ({ calls }) => calls, text: formatCompact },
  {
    id: 'tokens',
    of: ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
    text: formatCompact,
  },
  { id: 'first', of: firstTokenMs, text: formatDuration },
];

/** Drawn where something was found in a cache. */
const CACHE_MEASURES: readonly SeriesMeasure[] = [
  { id: 'reused', of: ({ cachedTokens }) => cachedTokens, text: formatCompact },
  {
    id: 'read',
    of: ({ inputTokens, cachedTokens }) => Math.max(0, inputTokens - cachedTokens),
    text: formatCompact,
  },
];

export function measuresOf(series: readonly Series[]): readonly SeriesMeasure[] {
  const isReused = series.some(({ points }) =>
    points.some(({ figures }) => figures.cachedTokens > 0),
  );
  return isReused ? [...SERIES_MEASURES, ...CACHE_MEASURES] : SERIES_MEASURES;
}

export function upstreamSeries(
  { points }: Pick<HistoryReport, 'points'>,
  nameOf: (upstream: string) => string,
): readonly Series[] {
  return UPSTREAM_IDS.flatMap((id) => {
    const own = points.flatMap(({ at, upstreams: { [id]: figures } }) =>
      figures === undefined ? [] : [{ at, figures }],
    );
    return own.length === 0 ? [] : [{ id, name: nameOf(id), points: own }];
  });
}

export function machineSeries(report: Pick<HistoryReport, 'machines' | 'names'>) {
  const nameOf = machineNames(report);
  return report.machines.map(({ provider, points }) => ({
    id: provider ?? '',
    name: provider === null ? words.otherMachines : nameOf(provider),
    points,
  }));
}

/** A removed machine has no name any more. */
export function machineNames({ names }: Pick<HistoryReport, 'names'>): (id: string) => string {
  const distinct = distinctNames(names);
  return (id) => distinct.get(id) ?? unknownMachine(id);
}

interface SeriesRow {
  readonly id: string;
  readonly name: string;
  /** All rows of a measure have the same scale. */
  readonly bars: readonly Bar[];
  readonly total: string;
  readonly label: string;
}

export function seriesRows(
  report: HistoryReport,
  series: readonly Series[],
  { of, text }: SeriesMeasure,
): readonly SeriesRow[] {
  const drawn = series.map((each) => ({ ...each, values: valuesOf(each.points, of) }));
  const max = peakOf(drawn.flatMap(({ values }) => values));
  return drawn.map(({ id, name, points, values }) => {
    const whole = of(sumOf(points.map(({ figures }) => figures)));
    const total = whole === null ? words.noValue : text(whole);
    const [most] = values.toSorted((a, b) => b.value - a.value);
    const label =
      most === undefined
        ? words.seriesEmpty(name)
        : words.series(name, total, text(most.value), stepText(report, most.at));
    return { id, name, total, label, bars: barsUpTo(report, values, max) };
  });
}

function sumOf(all: readonly MachineFigures[]): MachineFigures {
  const sums = MACHINE_FIGURES.map((name) => [
    name,
    all.reduce((sum, figures) => sum + figures[name], 0),
  ]);
  return Object.fromEntries(sums) as MachineFigures;
}

export function rowTextAt(
  report: HistoryReport,
  { bars }: Pick<SeriesRow, 'bars'>,
  step: number,
  { text }: Pick<SeriesMeasure, 'text'>,
): string {
  const bar = bars.find(({ at }) => stepOf(report, at) === step);
  return bar === undefined ? words.noValue : text(bar.value);
}
