import type { HistoryReport } from '#shared/usage.ts';
import { t } from '../../text/t.ts';
import { BarGraph } from './bar-graph.tsx';
import { barsOf, type Measure, stepText } from './history-model.ts';

const words = t.history;

/** Bars over the range; the table below has the same figures for those who cannot see them. */
export function Chart({
  report,
  measure,
}: {
  readonly report: HistoryReport;
  readonly measure: Measure;
}) {
  const { bars, max } = barsOf(report, measure);
  return (
    <figure className="chart">
      <figcaption>
        {words.measures[measure.id]}
        <span className="chart-max">{max === 0 ? words.empty : words.peak(measure.text(max))}</span>
      </figcaption>
      <BarGraph
        bars={bars}
        titleOf={({ at, value }) => `${stepText(report, at)}: ${measure.text(value)}`}
      />
      <div className="chart-ends" aria-hidden="true">
        <span>{stepText(report, report.from)}</span>
        <span>{words.now}</span>
      </div>
    </figure>
  );
}
