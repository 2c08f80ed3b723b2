import { type PointerEvent, useId, useState } from 'react';
import type { HistoryReport } from '#shared/usage.ts';
import { t } from '../../text/t.ts';
import { BarGraph } from './bar-graph.tsx';
import { stepCount, stepText } from './history-model.ts';
import {
  rowTextAt,
  SERIES_MEASURES,
  type Series,
  type SeriesMeasure,
  seriesRows,
} from './series-model.ts';

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
        {SERIES_MEASURES.map((measure) => (
          <SeriesChart key={measure.id} {...props} measure={measure} />
        ))}
      </div>
    </section>
  );
}

function SeriesChart({
  report,
  series,
  measure,
}: SeriesProps & { readonly measure: SeriesMeasure }) {
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
            <dt>{row.name}</dt>
            <dd className="series-bars" onPointerMove={point}>
              <BarGraph bars={row.bars} label={row.label} />
            </dd>
            <dd>{step === null ? row.total : rowTextAt(report, row, step, measure)}</dd>
          </div>
        ))}
      </dl>
    </figure>
  );
}
