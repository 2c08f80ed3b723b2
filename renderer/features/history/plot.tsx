import type { HistoryReport } from '#shared/usage.ts';
import { type Bar, stepText } from './history-model.ts';

const WIDTH = 1000;
const HEIGHT = 120;
/** Width of a bar as a share of its step; the rest is the gap. */
const BAR_SHARE = 0.8;

interface PlotProps {
  readonly report: HistoryReport;
  /** Their values are at most `max`. */
  readonly bars: readonly Bar[];
  readonly max: number;
  readonly text: (value: number) => string;
}

/** Bars between axes: values at the left, the range below; a table gives the same figures to screen readers. */
export function Plot({ report, bars, max, text }: PlotProps) {
  return (
    <div className="plot" aria-hidden="true">
      <div className="plot-values">
        {[max, max / 2, 0].map((value) => (
          <span key={value}>{text(value)}</span>
        ))}
      </div>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
        <path className="plot-line" d={`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}`} />
        <Bars bars={bars} />
      </svg>
      <div className="chart-ends">
        <span>{stepText(report, report.from)}</span>
        <span>now</span>
      </div>
    </div>
  );
}

interface BarGraphProps {
  readonly bars: readonly Bar[];
  readonly className: string;
}

/** The bars alone, stretched over the box from CSS; their figures are given elsewhere. */
export function BarGraph({ bars, className }: BarGraphProps) {
  return (
    <svg
      className={className}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <Bars bars={bars} />
    </svg>
  );
}

function Bars({ bars }: { readonly bars: readonly Bar[] }) {
  return bars.map(({ at, x, width, base = 0, height, layer, title }) => (
    <rect
      key={`${at} ${layer}`}
      data-layer={layer}
      x={x * WIDTH}
      y={(1 - base - height) * HEIGHT}
      width={width * WIDTH * BAR_SHARE}
      height={height * HEIGHT}
    >
      {title !== undefined && <title>{title}</title>}
    </rect>
  ));
}
