import type { ReactNode } from 'react';
import type { HistoryReport } from '#shared/usage.ts';
import * as t from '../../text/t.ts';
import { type Bar, niceMax, stepText } from './history-model.ts';

const WIDTH = 1000;
const HEIGHT = 120;
/** Width of a bar as a share of its step; the rest is the gap. */
const BAR_SHARE = 0.8;

interface Scale {
  /** A bar from `x` on, both in shares of the width, that ends at the value `top`. */
  readonly box: (x: number, width: number, top: number, value: number) => Box;
}

type Box = Readonly<Record<'x' | 'y' | 'width' | 'height', number>>;

interface PlotProps {
  readonly report: HistoryReport;
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

/** The bars alone, stretched over the box from CSS; without a label their figures are given elsewhere. */
export function BarGraph({
  bars,
  label,
  className,
}: {
  readonly bars: readonly Bar[];
  readonly label?: string;
  readonly className?: string;
}) {
  return (
    <svg
      className={className}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      {...(label === undefined ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label })}
    >
      {bars.map((bar) => (
        <rect
          key={bar.at}
          x={bar.x * WIDTH}
          y={HEIGHT - bar.height * HEIGHT}
          width={bar.width * WIDTH * BAR_SHARE}
          height={bar.height * HEIGHT}
        />
      ))}
    </svg>
  );
}
