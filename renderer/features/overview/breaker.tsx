import type { Condition } from '#shared/condition.ts';
import type { WarmupState } from '#shared/status.ts';
import type { Flow } from './upstream-list.ts';

interface BreakerProps {
  readonly condition: Condition;
  readonly flow: Flow;
}

const RADIUS = 18;
const ROUND = 2 * Math.PI * RADIUS;

/** A breaker on the track, its state drawn as a shape; the words are next to it. */
export function Breaker({ condition, flow }: BreakerProps) {
  return (
    <svg className="breaker" data-kind={condition.kind} viewBox="0 0 72 72" aria-hidden="true">
      <path className="rail-piece" data-live={flow !== 'none' || undefined} d="M0 36H18" />
      <path
        className="rail-piece"
        data-live={flow === 'round' || flow === 'through' || undefined}
        d="M54 36H72"
      />
      {flow === 'round' && (
        <path className="bypass" d="M3 36C13 36 12 8 25 8H47C60 8 59 36 69 36" />
      )}
      <circle className="breaker-body" cx="36" cy="36" r={RADIUS} />
      {condition.kind === 'cooling' && <CooldownRing share={condition.share} />}
      <Contact condition={condition} flow={flow} />
    </svg>
  );
}

function CooldownRing({ share }: { readonly share: number }) {
  return (
    <circle
      className="cooldown-ring"
      cx="36"
      cy="36"
      r={RADIUS}
      transform="rotate(-90 36 36)"
      strokeDasharray={`${(share * ROUND).toFixed(1)} ${ROUND.toFixed(1)}`}
    />
  );
}

/** Inside the ring: a bar (closed), a raised lever (open), a cross (excluded) or nothing. */
function Contact({ condition, flow }: BreakerProps) {
  const { kind } = condition;
  if (kind === 'cooling' || kind === 'probe') return <Lever up={kind === 'cooling'} />;
  if (kind === 'missing') {
    return (
      <path className="rail-piece" data-live={flow === 'through' || undefined} d="M18 36H54" />
    );
  }
  if (kind !== 'on-demand') return <path className="contact" d={CONTACTS[kind]} />;
  const { warmup } = condition;
  return <path className="contact" data-warmup={warmup} d={WARMUP_CONTACTS[warmup]} />;
}

const BAR = 'M26 36H46';
const CROSS = 'M30 30L42 42M42 30L30 42';

const CONTACTS = {
  closed: BAR,
  failing: 'M26 36H32L35 30L38 42L41 36H46',
  skipped: CROSS,
  down: CROSS,
  // Rails with a gap in the middle: whether they connect is unknown.
  untested: 'M25 36H31M35 36H37M41 36H47',
  // Removed: two rail ends with nothing between them.
  'zero-spend': 'M24.5 36H29M43 36H47.5M36 29V43',
  'no-provider': 'M28.5 43.5L43.5 28.5',
};

const WARMUP_CONTACTS: Readonly<Record<WarmupState, string>> = {
  ready: BAR,
  warming: 'M30 43q3-3.5 0-7t0-7M36 43q3-3.5 0-7t0-7M42 43q3-3.5 0-7t0-7',
  failed: CROSS,
  // A snowflake: available after a cold start.
  idle: 'M36 27V45M28.2 31.5L43.8 40.5M28.2 40.5L43.8 31.5',
};

function Lever({ up }: { readonly up: boolean }) {
  return (
    <>
      <path className="contact" d={up ? 'M27 39L41 27' : 'M27 38L43 32'} />
      <circle className="contact-dot" cx="45" cy="39" r="2.2" />
    </>
  );
}
