import { assertNever } from '#shared/assert.ts';
import { type Check, CHECKS, type Provider } from '#shared/provider.ts';
import { formatMoment, formatPlural } from '../../text/format.ts';
import { addressOf, checkTodo, type CheckGroup } from './provider-checks.ts';
import type { Standing } from './provider-standing.ts';
import { reasonOf, reasonText } from '../../text/reason-text.ts';
import type { Tone } from '../overview/upstream-status-text.ts';

/** A machine's standing as the page says it; no ticking figures. */
export interface ProviderWords {
  readonly tone: Tone;
  readonly word: string;
  readonly what: string | null;
  readonly todo: string | null;
}

/** An engine's own words that add nothing to the sentence around them. */
const NO_NEWS = new Set(['', 'ok', 'unreachable']);

const SHOWN_ADDRESSES = 2;

/** Says where a machine stands. */
export function providerWords(standing: Standing, serverNow: number): ProviderWords {
  switch (standing.kind) {
    case 'stopped':
      return say('grey', 'stopped', `Shut down ${at(standing.since, serverNow)}.`);
    case 'silent':
      return silentWords(standing.since, serverNow);
    case 'paused':
      return say('grey', 'paused', 'Paused by its owner.');
    case 'unreachable':
      return unreachableWords(standing.entries);
    case 'engine-down':
      return engineWords(standing);
    case 'check-failed':
      return checkWords('red', 'check failed', standing.failed);
    case 'loading':
      return say('blue', 'loading', 'Its engine is loading a model.');
    case 'draining':
      return say('grey', 'draining', 'It finishes running requests and takes no new ones.');
    case 'verifying':
      return say('blue', 'being checked');
    case 'pending':
      return say('blue', 'waiting', pendingText(standing.reason));
    case 'resting':
      return restingWords(standing);
    case 'wavering':
      return checkWords('amber', 'unstable', standing.failed);
    case 'direct':
      return say('green', 'used directly', 'Local calls its engine without the agent.');
    case 'serving':
      return say('green', 'serving');
    case 'idle':
      return say('green', 'ready');
    default:
      return assertNever(standing, 'standing');
  }
}

/** The name a machine goes by. */
export function providerName({ host, id }: Pick<Provider, 'host' | 'id'>): string {
  return host.hostname.trim() || id;
}

/** An address that failed, and how: `tower:47901 (connection refused)`. */
function failureText(check: Check): string {
  const error = check.error?.trim() || 'failed';
  const address = addressOf(check);
  return address === null ? error : `${address} (${error})`;
}

function silentWords(since: number, serverNow: number): ProviderWords {
  return say(
    'red',
    'no heartbeat',
    `No heartbeat since ${formatMoment(since, serverNow)}.`,
    'Check that the machine is on, its agent runs and the network is up.',
  );
}

function unreachableWords(entries: readonly Check[]): ProviderWords {
  const shown = entries.slice(0, SHOWN_ADDRESSES).map(failureText).join(', ');
  const more = entries.length - SHOWN_ADDRESSES;
  const rest = more > 0 ? ` and ${formatPlural(more, 'more address', 'more addresses')}` : '';
  return say(
    'red',
    'unreachable',
    `Its heartbeats arrive, but it cannot be reached: ${shown}${rest}.`,
    checkTodo(CHECKS.health),
  );
}

function engineWords({ status, code }: Extract<Standing, { kind: 'engine-down' }>): ProviderWords {
  const said = NO_NEWS.has(status) ? '' : ` (${status})`;
  const how = code === 0 ? `does not answer${said}` : `answers HTTP ${code}${said}`;
  return say('red', 'engine down', `Its engine ${how}.`, checkTodo(CHECKS.engineHealth));
}

function checkWords(
  tone: Tone,
  word: string,
  [first, ...others]: readonly CheckGroup[],
): ProviderWords {
  if (!first) return say(tone, word, 'Its verification failed.', 'Verify it again.');
  const errors = first.entries.filter(({ passed }) => !passed).map(failureText);
  const more = others.length === 0 ? '' : ` ${formatPlural(others.length, 'more check')} failed.`;
  const what = `The check “${first.name}” failed: ${errors.join(', ')}.${more}`;
  const grace =
    tone === 'amber' ? ' It keeps serving; three failed verifications in a row exclude it.' : '';
  return say(tone, word, what + grace, checkTodo(first.name));
}

function restingWords({ fails, lastError }: Extract<Standing, { kind: 'resting' }>): ProviderWords {
  const error = lastError === null ? '' : ` (${reasonText(reasonOf(lastError))})`;
  const what = `It failed ${formatPlural(fails, 'request')} in a row${error} and is skipped for now.`;
  return say('amber', 'cooling down', what, 'Check its engine’s log.');
}

function pendingText(reason: string): string {
  return reason === '' ? 'Waiting to be verified.' : `Waiting to be verified: ${reason}.`;
}

function at(epochMs: number, serverNow: number): string {
  return `at ${formatMoment(epochMs, serverNow)}`;
}

function say(
  tone: Tone,
  word: string,
  what: string | null = null,
  todo: string | null = null,
): ProviderWords {
  return { tone, word, what, todo };
}
