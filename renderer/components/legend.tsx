import type { SegmentKind } from '../model/waterfall.ts';

const ENTRIES: readonly { readonly kind: SegmentKind; readonly text: string }[] = [
  { kind: 'waiting', text: 'waiting for the first token' },
  { kind: 'answering', text: 'answering' },
  { kind: 'failed', text: 'failed attempt' },
  { kind: 'broken', text: 'answer broke off' },
  { kind: 'starting', text: 'waiting for on demand' },
];

/** What the stretches of a waterfall mean. */
export function Legend() {
  return (
    <ul className="legend" aria-label="Bars">
      {ENTRIES.map(({ kind, text }) => (
        <li key={kind}>
          <span className="stretch" data-kind={kind} aria-hidden="true" />
          {text}
        </li>
      ))}
    </ul>
  );
}
