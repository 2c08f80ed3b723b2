import { memo } from 'react';
import type { Segment } from '../model/waterfall.ts';

/** A request's stretches on the common time axis; the row says the same in words. */
export const Waterfall = memo(function Waterfall({
  segments,
  running,
}: {
  readonly segments: readonly Segment[];
  readonly running: boolean;
}) {
  return (
    <span className="waterfall" aria-hidden="true" data-running={running || undefined}>
      {segments.map(({ kind, left, width }, index) => (
        // Stretches are only ever added at the end, so their place is their identity.
        <span
          key={`${index}-${kind}`}
          className="stretch"
          data-kind={kind}
          style={{ left: `${left}%`, width: `${width}%` }}
        />
      ))}
    </span>
  );
});
