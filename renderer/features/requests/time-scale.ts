/** The axis is logarithmic: it shows both 300 ms and two minutes without rescaling. */
const KNEE_MS = 250;
const END_MS = 180_000;
const SPAN = Math.log1p(END_MS / KNEE_MS);

/** The labelled ticks of the axis. */
export const AXIS_TICKS_MS = [0, 1_000, 5_000, 30_000, 120_000] as const;

/** Position on the axis in percent of its width; everything beyond three minutes is at the end. */
export function axisPercent(ms: number): number {
  return (100 * Math.log1p(Math.min(Math.max(ms, 0), END_MS) / KNEE_MS)) / SPAN;
}
