import { assertNever } from '#shared/assert.ts';
import type { StateWord } from '../../text/en/states.ts';
import { t } from '../../text/t.ts';
import { formatCountdown } from '../../text/format.ts';

import type { Station } from './upstream-list.ts';
import { reasonText } from '../../text/reason-text.ts';

/** Colours by meaning: serving, cooling down, broken, on demand, idle. */
export type Tone = 'green' | 'amber' | 'red' | 'blue' | 'grey';

/** The words for an upstream's state. */
interface StationWords extends StateWord {
  readonly tone: Tone;
  /** The text after the state's word. */
  readonly detail: string | null;
}

/** Exclusions that only a person can end; the others expire. */
const PERMANENT = new Set(['credentials', 'quota', 'model_not_found', 'disabled']);

/** True for an exclusion that only a person can end. */
export function isLasting(reason: string): boolean {
  return PERMANENT.has(reason);
}

const { states, stateDetails: details } = t;

export function stationWords({ condition, flow, inFlight }: Station): StationWords {
  switch (condition.kind) {
    case 'missing':
      return say('grey', condition.wants === 'key' ? states.needsKey : states.missing);
    case 'no-provider':
      return say('grey', states[condition.cause]);
    case 'zero-spend':
      return say('grey', states.off, details.paid);
    case 'skipped':
      return skipWords(condition.reason, condition.remainingMs);
    case 'cooling':
      return say(
        'amber',
        condition.cause === 'slow' ? states.tooSlow : states.skipped,
        details.retryIn(formatCountdown(condition.remainingMs)),
      );
    case 'probe':
      return inFlight > 0
        ? say('amber', states.retrying)
        : say('amber', states.nextRetry, details.nextRetry);
    case 'failing':
      return say('red', states.failing, details.skippedAfter(condition.limit - condition.fails));
    case 'on-demand':
      return warmupWords(condition, flow === 'ends');
    case 'down':
      return say(
        'red',
        { ...states.down, word: reasonText(condition.reason) },
        details.seenByCheck,
      );
    case 'untested':
      return say('grey', states.untested, details.notCalled);
    case 'closed':
      return closedWords(condition.isUnused, flow === 'ends');
    default:
      return assertNever(condition, 'condition');
  }
}

function closedWords(isUnused: boolean, serving: boolean): StationWords {
  const detail = isUnused ? details.answeredCheck : null;
  return serving ? say('green', states.serving, detail) : say('grey', states.standby, detail);
}

function skipWords(reason: string, remainingMs: number): StationWords {
  const left = formatCountdown(remainingMs);
  const kind = reason === 'budget' ? states.budget : states.excluded;
  const state = { ...kind, word: reasonText(reason) };
  return isLasting(reason)
    ? say('red', state, details.retryIn(left))
    : say('amber', state, details.backIn(left));
}

type OnDemand = Extract<Station['condition'], { kind: 'on-demand' }>;

function warmupWords({ warmup, startMs, usualMs }: OnDemand, serving: boolean): StationWords {
  switch (warmup) {
    case 'ready':
      return serving
        ? say('green', states.serving, details.warm)
        : say('blue', states.warm, details.ready);
    case 'warming':
      return say('blue', states.warming, startMs === null ? null : startText(startMs, usualMs));
    case 'failed':
      return say('red', states.warmupFailed);
    case 'idle':
      return serving ? say('blue', states.next, details.coldStart) : say('blue', states.cold);
    default:
      return assertNever(warmup, 'warm-up state');
  }
}

function startText(startMs: number, usualMs: number | null): string {
  const usual = usualMs === null ? null : formatCountdown(usualMs);
  return details.starting(formatCountdown(startMs), usual);
}

function say(tone: Tone, state: StateWord, detail: string | null = null): StationWords {
  return { tone, ...state, detail };
}
