import type { Mark } from './waterfall-notes.ts';
import type { SegmentKind } from './waterfall-model.ts';
import { t } from '../../text/t.ts';

interface Entry {
  /** `stretch`: a span of time; `mark`: a moment. */
  readonly look: 'stretch' | 'mark';
  readonly kind: Exclude<SegmentKind, 'stalled'> | Mark['kind'];
}

const ENTRIES: readonly Entry[] = [
  { look: 'stretch', kind: 'waiting' },
  { look: 'stretch', kind: 'answering' },
  { look: 'stretch', kind: 'silent' },
  { look: 'stretch', kind: 'failed' },
  { look: 'stretch', kind: 'outrun' },
  { look: 'stretch', kind: 'broken' },
  { look: 'stretch', kind: 'starting' },
  { look: 'mark', kind: 'hedge' },
  { look: 'mark', kind: 'handover' },
  { look: 'mark', kind: 'predicted' },
];

export function Legend() {
  return (
    <ul className="legend" aria-label={t.requests.legend.label}>
      {ENTRIES.map(({ look, kind }) => (
        <li key={kind}>
          <span className={look} data-kind={kind} aria-hidden="true" />
          {t.requests.legend[kind]}
        </li>
      ))}
      <li className="legend-scale">{t.requests.legend.scale}</li>
    </ul>
  );
}
