import { assertNever } from '#shared/assert.ts';
import { CHECK_MISSING, CHECKS, failuresIn } from '#shared/checks.ts';
import type { Check, Provider } from '#shared/provider.ts';
import type { StateText, Tone } from '../../text/en/states.ts';
import { formatMoment } from '../../text/format.ts';
import { reasonOf, reasonText } from '../../text/reason-text.ts';
import { t } from '../../text/t.ts';
import { addressOf, type CheckGroup, checkTitle, checkTodo } from './provider-checks.ts';
import type { Standing } from './provider-standing.ts';

/** A machine's standing in words, without ticking figures. */
export interface ProviderWords extends StateText {
  readonly tone: Tone;
  readonly what: string | null;
  readonly todo: string | null;
}

/** Engine statuses that add nothing to the sentence. */
const NO_NEWS = new Set(['', 'ok', 'unreachable']);

const SHOWN_ADDRESSES = 2;

const says = t.providers.says;
const states = t.machineStates;

/** The words for a standing. */
export function providerWords(standing: Standing, serverNow: number): ProviderWords {
  switch (standing.kind) {
    case 'stopped':
      return say('grey', states.stopped, says.stopped(at(standing.since, serverNow)));
    case 'silent':
      return silentWords(standing.since, serverNow);
    case 'paused':
      return say('grey', states.paused, says.paused);
    case 'unreachable':
      return unreachableWords(standing.entries);
    case 'engine-down':
      return engineWords(standing);
    case 'check-failed':
      return checkWords('red', states['check-failed'], standing.failed);
    case 'loading':
      return say('blue', states.loading, says.loading);
    case 'draining':
      return say('grey', states.draining, says.draining);
    case 'verifying':
      return say('blue', states.verifying);
    case 'pending':
      return say('blue', states.pending, pendingText(standing.reason));
    case 'resting':
      return restingWords(standing);
    case 'wavering':
      return checkWords('amber', states.wavering, standing.failed);
    case 'direct':
      return say('green', states.direct, says.direct);
    case 'serving':
      return say('green', states.serving);
    case 'idle':
      return say('green', states.idle);
    default:
      return assertNever(standing, 'standing');
  }
}

/** A machine's display name. */
export function providerName({ host, id }: Pick<Provider, 'host' | 'id'>): string {
  return host.hostname.trim() || id;
}

/** An address that failed, and how: `tower:47901 (connection refused)`. */
function failureText(check: Check): string {
  const error = check.error?.trim() || says.failed;
  const address = addressOf(check);
  return address === null ? error : says.failure(address, error);
}

function silentWords(since: number, serverNow: number): ProviderWords {
  return say('red', states.silent, says.silent(formatMoment(since, serverNow)), says.silentTodo);
}

function unreachableWords(entries: readonly Check[]): ProviderWords {
  const shown = entries.slice(0, SHOWN_ADDRESSES).map(failureText);
  return say(
    'red',
    states.unreachable,
    says.unreachable(shown, entries.length - SHOWN_ADDRESSES),
    checkTodo(CHECKS.health),
  );
}

function engineWords({ status, code }: Extract<Standing, { kind: 'engine-down' }>): ProviderWords {
  const said = NO_NEWS.has(status) ? '' : status;
  const what = status === 'unresponsive' ? says.engineSilent : says.engineDown(code, said);
  return say('red', states['engine-down'], what, checkTodo(CHECKS.engineHealth));
}

function checkWords(
  tone: Tone,
  state: StateText,
  [first, ...others]: readonly CheckGroup[],
): ProviderWords {
  if (!first) return say(tone, state, says.unverified, says.verifyAgain);
  const errors = first.entries.filter(({ passed }) => !passed).map(failureText);
  const what = says.checkFailed(checkTitle(first.name), errors, others.length);
  const grace = tone === 'amber' ? says.grace : '';
  return say(tone, state, what + grace, checkTodo(first.name));
}

function restingWords({ fails, lastError }: Extract<Standing, { kind: 'resting' }>): ProviderWords {
  const reason = lastError === null ? null : reasonText(reasonOf(lastError));
  return say('amber', states.resting, says.resting(fails, reason), says.restingTodo);
}

function pendingText(reason: string): string {
  if (reason !== '' && failuresIn(reason).every(({ error }) => error === CHECK_MISSING)) {
    return says.otherModel;
  }
  return reason === '' ? says.pending : says.pendingBecause(reason);
}

function at(epochMs: number, serverNow: number): string {
  return says.at(formatMoment(epochMs, serverNow));
}

function say(
  tone: Tone,
  state: StateText,
  what: string | null = null,
  todo: string | null = null,
): ProviderWords {
  return { tone, ...state, what, todo };
}
