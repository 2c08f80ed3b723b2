import type { StandingKind } from './provider-standing.ts';

/** A machine's standing as a shape; the word is next to it. */
export function ProviderMark({ kind }: { readonly kind: StandingKind }) {
  return (
    <svg className="provider-mark" data-kind={kind} viewBox="0 0 20 20" aria-hidden="true">
      <circle className="mark-body" cx="10" cy="10" r="8" />
      <path d={SIGNS[kind]} />
    </svg>
  );
}

const BARS = 'M7 12.5V7.5M10 12.5V7.5M13 12.5V7.5';
const PULSE = 'M5.5 10H8L9.2 7L11 13L12.2 10H14.5';

/** The sign of a standing, shared with the breakers where the meaning is the same. */
const SIGNS: Readonly<Record<StandingKind, string>> = {
  serving: 'M6 10H14',
  direct: 'M6 10H14',
  idle: 'M9 10H11',
  silent: 'M10 6V10.5M10 13.8V14',
  unreachable: 'M6 10H7.5M12.5 10H14M8.5 13L11.5 7',
  'engine-down': 'M7 7L13 13M13 7L7 13',
  'check-failed': PULSE,
  wavering: PULSE,
  resting: 'M6 12L13 7.5',
  verifying: BARS,
  loading: BARS,
  pending: 'M6.5 10H6.6M10 10H10.1M13.5 10H13.6',
  paused: 'M8 7V13M12 7V13',
  draining: 'M10 6V13M7 10.5L10 13.5L13 10.5',
  stopped: 'M7.5 7.5H12.5V12.5H7.5Z',
};
