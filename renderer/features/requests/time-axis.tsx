import { AXIS_TICKS, axisPercent } from './time-scale.ts';

/** Marks of the common time axis, drawn once behind all rows. */
export function TimeAxis() {
  return (
    <div className="axis" aria-hidden="true">
      {AXIS_TICKS.map(({ ms, label }) => (
        <span key={label} style={{ left: `${axisPercent(ms)}%` }}>
          <span className="axis-label">{label}</span>
        </span>
      ))}
      <span className="axis-scale">
        <span className="axis-label">logarithmic</span>
      </span>
    </div>
  );
}
