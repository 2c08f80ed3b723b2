/** The axis is logarithmic so that 300 ms and two minutes both show, and never has to rescale. */
const KNEE_MS = 250;
const END_MS = 180_000;
const SPAN = Math.log1p(END_MS / KNEE_MS);

/** Labelled places on the axis. */
export const AXIS_TICKS = [
  { ms: 0, label: '0' },
  { ms: 1_000, label: '1 s' },
  { ms: 5_000, label: '5 s' },
  { ms: 30_000, label: '30 s' },
  { ms: 120_000, label: '2 min' },
] as const;

/** Place on the axis in percent of its width; beyond three minutes everything is at the end. */
export function axisPercent(ms: number): number {
  return (100 * Math.log1p(Math.min(Math.max(ms, 0), END_MS) / KNEE_MS)) / SPAN;
}
