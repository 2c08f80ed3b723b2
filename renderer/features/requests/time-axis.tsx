import { AXIS_TICKS_MS, axisPercent } from './time-scale.ts';
import { t } from '../../text/t.ts';

/** Marks of the common time axis, drawn once behind all rows. */
export function TimeAxis() {
  return (
    <div className="axis" aria-hidden="true">
      {AXIS_TICKS_MS.map((ms, index) => (
        <span key={ms} style={{ left: `${axisPercent(ms)}%` }}>
          <span className="axis-label">{t.requests.axis.ticks[index]}</span>
        </span>
      ))}
      <span className="axis-scale">
        <span className="axis-label">{t.requests.axis.logarithmic}</span>
      </span>
    </div>
  );
}
