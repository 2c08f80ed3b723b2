import { UPSTREAM_IDS } from '#shared/ids.ts';
import type { HistoryPoint, HistoryReport } from '#shared/usage.ts';
import { hashOf } from '../../route.ts';
import { formatCompact } from '../../text/format.ts';
import { type Bar, barsUpTo, niceMax, stepText } from './history-model.ts';
import { Plot } from './plot.tsx';

interface Layer {
  readonly id: string;
  readonly name: string;
  /** The address of the requests that it counts. */
  readonly hash: string;
  readonly of: (point: HistoryPoint) => number;
}

interface StackedChartProps {
  readonly report: HistoryReport;
  readonly nameOf: (upstream: string) => string;
}

/** Answers over time, each step stacked by who gave them, with what failed on top; the names lead to the requests. */
export function StackedChart({ report, nameOf }: StackedChartProps) {
  const layers = [...upstreamLayers(nameOf), FAILED];
  const totals = report.points.map((point) => layers.reduce((sum, { of }) => sum + of(point), 0));
  const max = niceMax(Math.max(0, ...totals));
  const bars = report.points.flatMap((point) => columnAt(report, point, layers, max));
  return (
    <figure className="chart stacked">
      <figcaption>
        Answers
        <ul className="stacked-names">
          {layers.map(({ id, name, hash, of }) => {
            const total = report.points.reduce((sum, point) => sum + of(point), 0);
            return (
              total > 0 && (
                <li key={id}>
                  <span className="stacked-key" data-layer={id} aria-hidden="true" />
                  <a href={hash}>{name}</a> {formatCompact(total)}
                </li>
              )
            );
          })}
        </ul>
      </figcaption>
      <Plot {...{ report, bars, max }} text={formatCompact} />
    </figure>
  );
}

/** The layers of a step in which they have something, from the bottom. */
function columnAt(
  report: HistoryReport,
  point: HistoryPoint,
  layers: readonly Layer[],
  max: number,
): readonly Bar[] {
  let base = 0;
  return layers.flatMap(({ id, name, of }) => {
    const value = of(point);
    const title = `${stepText(report, point.at)}: ${name} ${formatCompact(value)}`;
    const [bar] = value > 0 ? barsUpTo(report, [{ at: point.at, value }], max) : [];
    if (bar === undefined) return [];
    base += bar.height;
    return [{ ...bar, base: base - bar.height, layer: id, title }];
  });
}

const upstreamLayers = (nameOf: (id: string) => string): readonly Layer[] =>
  UPSTREAM_IDS.map((id) => ({
    id,
    name: nameOf(id),
    hash: hashOf({ page: 'requests', filter: 'all', by: { upstream: id } }),
    of: ({ upstreams: { [id]: figures } }) =>
      figures === undefined ? 0 : figures.calls - figures.failures,
  }));

const FAILED: Layer = {
  id: 'failed',
  name: 'Failed',
  hash: hashOf({ page: 'requests', filter: 'failed' }),
  of: ({ figures }) => figures.failures,
};
