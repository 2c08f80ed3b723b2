import type { HistoryReport } from '#shared/usage.ts';
import { t } from '../../text/t.ts';
import { barsOf, type Measure, stepText } from './history-model.ts';

const words = t.history;

const WIDTH = 1000;
const HEIGHT = 120;

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
        <span className="chart-max">{max === 0 ? words.empty : words.upTo(measure.text(max))}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map(({ at, x, width, height, value }) => (
          <rect
            key={at}
            x={x * WIDTH}
            y={HEIGHT - height * HEIGHT}
            width={width * WIDTH * 0.8}
            height={height * HEIGHT}
          >
            <title>{`${stepText(report, at)}: ${measure.text(value)}`}</title>
          </rect>
        ))}
      </svg>
      <div className="chart-ends" aria-hidden="true">
        <span>{stepText(report, report.from)}</span>
        <span>{words.now}</span>
      </div>
    </figure>
  );
}
