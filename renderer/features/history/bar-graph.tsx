import type { Bar } from './history-model.ts';

const WIDTH = 1000;
const HEIGHT = 120;
/** Width of a bar as a share of its step; the rest is the gap. */
const BAR_SHARE = 0.8;

/** The bars alone, stretched over the box from CSS; without a label their figures are given elsewhere. */
export function BarGraph({
  bars,
  titleOf,
  label,
  className,
}: {
  readonly bars: readonly Bar[];
  readonly titleOf?: (bar: Bar) => string;
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
        >
          {titleOf !== undefined && <title>{titleOf(bar)}</title>}
        </rect>
      ))}
    </svg>
  );
}
