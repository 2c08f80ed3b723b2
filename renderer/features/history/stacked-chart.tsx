import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { HistoryPoint, HistoryReport } from '#shared/usage.ts';
import { hashOf } from '../../route.ts';
import { formatCompact } from '../../text/format.ts';
import { t } from '../../text/t.ts';
import { stepCount, stepOf, stepText, niceMax } from './history-model.ts';
import type { ReactNode } from 'react';

const WIDTH = 1000;
const HEIGHT = 120;
/** Width of a bar as a share of its step; the rest is the gap. */
const BAR_SHARE = 0.8;

/** Places values on a plot. */
interface Scale {
  /** A bar from `x` on, both in shares of the width, that ends at the value `top`. */
  readonly box: (
    x: number,
    width: number,
    top: number,
    value: number,
  ) => Readonly<Record<'x' | 'y' | 'width' | 'height', number>>;
}

interface PlotProps {
  readonly report: HistoryReport;
  /** The highest value. */
  readonly peak: number;
  readonly text: (value: number) => string;
  readonly children: (scale: Scale) => ReactNode;
}

/** Bars between axes: values at the left, the range below; a table gives the same figures to screen readers. */
export function Plot({ report, peak, text, children }: PlotProps) {
  const max = niceMax(peak);
  const scale: Scale = {
    box: (x, width, top, value) => ({
      x: x * WIDTH,
      y: HEIGHT - (top / max) * HEIGHT,
      width: width * WIDTH * BAR_SHARE,
      height: (value / max) * HEIGHT,
    }),
  };
  return (
    <div className="plot" aria-hidden="true">
      <div className="plot-values">
        {[max, max / 2, 0].map((value) => (
          <span key={value}>{text(value)}</span>
        ))}
      </div>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
        {[0, 0.5].map((share) => (
          <path key={share} className="plot-line" d={`M0 ${share * HEIGHT}H${WIDTH}`} />
        ))}
        {children(scale)}
      </svg>
      <div className="chart-ends">
        <span>{stepText(report, report.from)}</span>
        <span>{t.history.now}</span>
      </div>
    </div>
  );
}

const words = t.history;

/** What a bar is made of: the answers of each upstream, and the requests that failed on top. */
type Layer = UpstreamId | 'failed';
const LAYERS: readonly Layer[] = [...UPSTREAM_IDS, 'failed'];

interface Column {
  readonly at: number;
  readonly parts: readonly { readonly layer: Layer; readonly value: number }[];
  readonly total: number;
}

/** The columns of the chart, one a step in which something happened. */
function columnsOf(points: readonly HistoryPoint[]): readonly Column[] {
  return points.map(({ at, figures, upstreams }) => {
    const valueOf = (layer: Layer): number => {
      if (layer === 'failed') return figures.failures;
      const { calls = 0, failures = 0 } = upstreams[layer] ?? {};
      return calls - failures;
    };
    const parts = LAYERS.map((layer) => ({ layer, value: valueOf(layer) }));
    const shown = parts.filter(({ value }) => value > 0);
    return { at, parts: shown, total: shown.reduce((sum, { value }) => sum + value, 0) };
  });
}

interface StackedChartProps {
  readonly report: HistoryReport;
  readonly nameOf: (upstream: string) => string;
}

/** Answers over time, each step stacked by the upstream that gave them; the names lead to its requests. */
export function StackedChart({ report, nameOf }: StackedChartProps) {
  const columns = columnsOf(report.points);
  const peak = Math.max(0, ...columns.map(({ total }) => total));
  const steps = stepCount(report);
  const totals = LAYERS.map((layer) => ({
    layer,
    total: columns
      .flatMap(({ parts }) => parts.filter((part) => part.layer === layer))
      .reduce((sum, { value }) => sum + value, 0),
  })).filter(({ total }) => total > 0);
  const name = (layer: Layer) => (layer === 'failed' ? words.failed : nameOf(layer));
  return (
    <figure className="chart stacked">
      <figcaption>
        {words.answers}
        <ul className="stacked-names">
          {totals.map(({ layer, total }) => (
            <li key={layer}>
              <span className="stacked-key" data-layer={layer} aria-hidden="true" />
              <a href={hashOf(requestsOf(layer))}>{name(layer)}</a> {formatCompact(total)}
            </li>
          ))}
        </ul>
      </figcaption>
      <Plot report={report} peak={peak} text={formatCompact}>
        {(scale) =>
          columns.flatMap(({ at, parts }) => {
            let below = 0;
            return parts.map(({ layer, value }) => {
              below += value;
              return (
                <rect
                  key={`${at}-${layer}`}
                  data-layer={layer}
                  {...scale.box(stepOf(report, at) / steps, 1 / steps, below, value)}
                >
                  <title>{`${stepText(report, at)}: ${name(layer)} ${formatCompact(value)}`}</title>
                </rect>
              );
            });
          })
        }
      </Plot>
    </figure>
  );
}

function requestsOf(layer: Layer) {
  return layer === 'failed'
    ? ({ page: 'requests', filter: 'failed' } as const)
    : ({ page: 'requests', filter: 'all', by: { upstream: layer } } as const);
}
