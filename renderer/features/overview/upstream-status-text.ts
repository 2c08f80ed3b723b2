import { assertNever } from '#shared/assert.ts';
import { formatCountdown } from '../../text/format.ts';
import type { NoProviderCause } from './condition.ts';
import type { Station } from './upstream-list.ts';
import { reasonText } from '../../text/reason-text.ts';

/** Colours that always mean the same: serving, cooling off, broken, on demand, at rest. */
export type Tone = 'green' | 'amber' | 'red' | 'blue' | 'grey';

/** The words for an upstream's state. */
interface StationWords {
  readonly tone: Tone;
  readonly word: string;
  /** The second half of the state, after the word. */
  readonly detail: string | null;
}

/** Exclusions that a person has to end; the others expire. */
const LASTING = new Set(['credentials', 'quota', 'model_not_found', 'disabled']);

/** True for an exclusion that a person has to end. */
export function isLasting(reason: string): boolean {
  return LASTING.has(reason);
}

export function stationWords({ condition, flow, inFlight }: Station): StationWords {
  switch (condition.kind) {
    case 'missing':
      return say('grey', condition.wants === 'key' ? 'needs a key' : 'not set up');
    case 'no-provider':
      return say('grey', NO_PROVIDER_WORDS[condition.cause]);
    case 'zero-spend':
      return say('grey', 'switched off', 'paid');
    case 'skipped':
      return skipWords(condition.reason, condition.remainingMs);
    case 'cooling':
      return say(
        'amber',
        condition.cause === 'slow' ? 'skipped: too slow' : 'skipped',
        `retry in ${formatCountdown(condition.remainingMs)}`,
      );
    case 'probe':
      return inFlight > 0 ? say('amber', 'retrying') : say('amber', 'skipped', 'next: retry');
    case 'failing':
      return say('red', 'failing', `skipped after ${condition.limit - condition.fails} more`);
    case 'on-demand':
      return warmupWords(condition, flow === 'ends');
    case 'down':
      return say('red', reasonText(condition.reason), 'seen by a check');
    case 'untested':
      return say('grey', 'untested', 'not called yet');
    case 'closed':
      return closedWords(condition.isUnused, flow === 'ends');
    default:
      return assertNever(condition, 'condition');
  }
}

function closedWords(isUnused: boolean, serving: boolean): StationWords {
  const detail = isUnused ? 'answered a check' : null;
  return serving ? say('green', 'serving', detail) : say('grey', 'standby', detail);
}

const NO_PROVIDER_WORDS = {
  silent: 'no heartbeat',
  engine: 'engine down',
  'no-gpu': 'no GPU found',
  verifying: 'verifying',
  failed: 'no machine available',
} as const satisfies Record<NoProviderCause, string>;

function skipWords(reason: string, remainingMs: number): StationWords {
  const left = formatCountdown(remainingMs);
  return isLasting(reason)
    ? say('red', reasonText(reason), `retry in ${left}`)
    : say('amber', reasonText(reason), `back in ${left}`);
}

type OnDemand = Extract<Station['condition'], { kind: 'on-demand' }>;

function warmupWords({ warmup, startMs, usualMs }: OnDemand, serving: boolean): StationWords {
  switch (warmup) {
    case 'ready':
      return serving ? say('green', 'serving', 'warm') : say('blue', 'warm', 'ready');
    case 'warming':
      return say('blue', 'warming up', startMs === null ? null : startText(startMs, usualMs));
    case 'failed':
      return say('red', 'warm-up failed');
    case 'idle':
      return serving ? say('blue', 'next', 'cold start') : say('blue', 'cold');
    default:
      return assertNever(warmup, 'warm-up state');
  }
}

function startText(startMs: number, usualMs: number | null): string {
  const usual = usualMs === null ? '' : `, usually ${formatCountdown(usualMs)}`;
  return `for ${formatCountdown(startMs)}${usual}`;
}

function say(tone: Tone, word: string, detail: string | null = null): StationWords {
  return { tone, word, detail };
}
