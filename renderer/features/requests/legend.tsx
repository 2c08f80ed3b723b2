import type { Mark } from './waterfall-notes.ts';
import type { SegmentKind } from './waterfall-model.ts';

interface Entry {
  /** A span of time, or a mark at one moment. */
  readonly look: 'stretch' | 'mark';
  readonly kind: SegmentKind | Mark['kind'];
  readonly text: string;
}

const ENTRIES: readonly Entry[] = [
  { look: 'stretch', kind: 'waiting', text: 'waiting' },
  { look: 'stretch', kind: 'answering', text: 'answering' },
  { look: 'stretch', kind: 'silent', text: 'silent' },
  { look: 'stretch', kind: 'failed', text: 'failed' },
  { look: 'stretch', kind: 'outrun', text: 'lost the race' },
  { look: 'stretch', kind: 'broken', text: 'dropped' },
  { look: 'stretch', kind: 'starting', text: 'on demand starting' },
  { look: 'mark', kind: 'hedge', text: 'hedge' },
  { look: 'mark', kind: 'handover', text: 'resumed' },
  { look: 'mark', kind: 'predicted', text: 'predicted first token' },
];

export function Legend() {
  return (
    <ul className="legend" aria-label="Bars">
      {ENTRIES.map(({ look, kind, text }) => (
        <li key={kind}>
          <span className={look} data-kind={kind} aria-hidden="true" />
          {text}
        </li>
      ))}
      <li className="legend-scale">time axis is logarithmic</li>
    </ul>
  );
}
