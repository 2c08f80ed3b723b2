import { ADDRESSES, CHECKS as MORE_CHECKS, REQUESTS } from '../../text/en/nouns.ts';
import { CHECK_MISSING, CHECKS, failuresIn } from '#shared/checks.ts';
import type { MachineNames } from '#shared/ids.ts';
import { distinctNames } from '#shared/machine-names.ts';
import type { Check, Provider } from '#shared/provider.ts';
import type { StatusReport } from '#shared/status.ts';
import type { Machines } from '../../api/providers.ts';
import type { StateText, Tone } from '../../text/en/states.ts';
import { formatMoment, counted } from '../../text/format.ts';
import { reasonOf, reasonText } from '../../text/reason-text.ts';
import * as t from '../../text/t.ts';

export type ProviderCircuit = StatusReport['stats']['providerCircuits'][string];

/** A machine's state for the page, in order of precedence: causes that keep it from serving come first. */
type Standing =
  | { readonly kind: 'stopped'; readonly since: number }
  /** Its heartbeats stopped without a goodbye. */
  | { readonly kind: 'silent'; readonly since: number }
  | { readonly kind: 'paused' }
  /** Its heartbeats arrive, but its agent cannot be reached at any address. */
  | { readonly kind: 'unreachable'; readonly entries: readonly Check[] }
  | { readonly kind: 'engine-down'; readonly status: string; readonly code: number }
  | { readonly kind: 'check-failed'; readonly failed: readonly CheckGroup[] }
  | { readonly kind: 'loading' }
  | { readonly kind: 'draining' }
  | { readonly kind: 'verifying' }
  | { readonly kind: 'pending'; readonly reason: string }
  /** Verified, but skipped: requests to it failed in a row, or with no failure were too slow. */
  | { readonly kind: 'resting'; readonly fails: number; readonly lastError: string | null }
  /** Still verified, but its last run failed. */
  | { readonly kind: 'wavering'; readonly failed: readonly CheckGroup[] }
  /** `local` calls its engine directly, whatever the agent's verification says. */
  | { readonly kind: 'direct' }
  | { readonly kind: 'serving' }
  | { readonly kind: 'idle' };

export type StandingKind = Standing['kind'];

export interface ProviderEntry {
  readonly provider: Provider;
  readonly standing: Standing;
  /** The owner's name for it, otherwise its host name. */
  readonly name: string;
  readonly note: string;
  readonly isHere: boolean;
}

const UNVERIFIED = new Set<StandingKind>(['check-failed', 'wavering', 'verifying', 'pending']);

/** A machine's standing; `circuit` is its circuit in routing, `isDirect` whether `local` calls its engine directly. */
export function standingOf(
  provider: Provider,
  circuit: ProviderCircuit | undefined,
  isDirect = false,
): Standing {
  const standing = ownWord(provider) ?? verdict(provider) ?? inUse(provider, circuit);
  return isDirect && UNVERIFIED.has(standing.kind) ? { kind: 'direct' } : standing;
}

/** True while a machine that failed verification is being verified again. */
export const isRechecked = ({ verification }: Provider, { kind }: Standing): boolean =>
  verification.status === 'verifying' && kind !== 'verifying' && kind !== 'direct';

function ownWord({ status, raw, last_heartbeat }: Provider): Standing | null {
  const since = Date.parse(last_heartbeat);
  if (status === 'offline' && raw.status === 'offline') return { kind: 'stopped', since };
  if (status === 'offline' || status === 'stale') return { kind: 'silent', since };
  return status === 'paused' ? { kind: 'paused' } : null;
}

/** The standing by the last verification, which a run in progress does not hide. */
function verdict({ verification, status, engine_health }: Provider): Standing | null {
  const failed = failedGroups(verification.checks);
  const out = verification.status === 'failed' || verification.status === 'verifying';
  const health = failed.find(({ name }) => name === CHECKS.health);
  if (out && health) {
    const entries = health.entries.filter(({ error }) => error !== CHECK_MISSING);
    return { kind: 'unreachable', entries };
  }
  if (engine_health.status === 'loading') return { kind: 'loading' };
  if (status === 'degraded' || engine_health.status !== 'ok') {
    return { kind: 'engine-down', ...engine_health };
  }
  if (verification.status === 'failed' || (out && failed.length > 0)) {
    return { kind: 'check-failed', failed };
  }
  return null;
}

function inUse(provider: Provider, circuit: ProviderCircuit | undefined): Standing {
  const { verification, status } = provider;
  if (status === 'draining') return { kind: 'draining' };
  // A machine that has changed still gets requests while it is checked again: it serves.
  if (!verification.routable && verification.status === 'verifying') return { kind: 'verifying' };
  if (!verification.routable && verification.status === 'pending') {
    return { kind: 'pending', reason: verification.failure_reason };
  }
  if (circuit?.open) {
    return { kind: 'resting', fails: circuit.consecutiveFails, lastError: circuit.lastError };
  }
  const failed = failedGroups(verification.checks);
  if (failed.length > 0) return { kind: 'wavering', failed };
  return { kind: status === 'idle' ? 'idle' : 'serving' };
}

const failedGroups = (checks: readonly Check[]): readonly CheckGroup[] =>
  checkGroups(checks).filter(({ outcome }) => outcome === 'failed');

/** The groups in the order of the list: those that need attention first. */
export const PROVIDER_GROUPS = ['attention', 'arriving', 'ready', 'resting'] as const;

export type ProviderGroup = (typeof PROVIDER_GROUPS)[number];

export const PROVIDER_FILTERS = ['all', ...PROVIDER_GROUPS] as const;

export type ProviderFilter = (typeof PROVIDER_FILTERS)[number];

/** The group and the tone of each standing; also the order within a group. */
const PLACES: Readonly<Record<StandingKind, readonly [ProviderGroup, Tone]>> = {
  'engine-down': ['attention', 'red'],
  unreachable: ['attention', 'red'],
  'check-failed': ['attention', 'red'],
  silent: ['attention', 'red'],
  resting: ['attention', 'amber'],
  wavering: ['attention', 'amber'],
  verifying: ['arriving', 'blue'],
  loading: ['arriving', 'blue'],
  pending: ['arriving', 'blue'],
  direct: ['ready', 'green'],
  // Ranked like `idle`, see rankOf: otherwise machines would change places with every request.
  serving: ['ready', 'green'],
  idle: ['ready', 'green'],
  draining: ['resting', 'grey'],
  paused: ['resting', 'grey'],
  stopped: ['resting', 'grey'],
};

const ORDER = Object.keys(PLACES);

export const groupOf = (kind: StandingKind): ProviderGroup => PLACES[kind][0];

export const rankOf = (kind: StandingKind): number =>
  kind === 'idle' ? rankOf('serving') : ORDER.indexOf(kind);

/** All entries of one check: a network check has one per address. */
export interface CheckGroup {
  readonly name: string;
  /** A check passes if one of its entries does; `missing`: it was never run. */
  readonly outcome: 'passed' | 'failed' | 'missing';
  readonly entries: readonly Check[];
}

export function checkGroups(checks: readonly Check[]): readonly CheckGroup[] {
  const byName = Map.groupBy(checks, ({ name }) => name);
  return [...byName].map(([name, entries]) => ({ name, entries, outcome: outcomeOf(entries) }));
}

function outcomeOf(entries: readonly Check[]): CheckGroup['outcome'] {
  if (entries.some(({ passed }) => passed)) return 'passed';
  return entries.every(({ error }) => error === CHECK_MISSING) ? 'missing' : 'failed';
}

/** What is said of an entry next to the outcome of its check, for which one address is enough. */
export function entryText({ passed, error = 'failed' }: Check, outcome: CheckGroup['outcome']) {
  if (passed) return '';
  return outcome === 'passed' ? `also tried: ${error}` : error;
}

/** The address of a check, such as `tower:47901`; null for a check without a network call. */
export function addressOf({ detail }: Check): string | null {
  const url = /https?:\/\/([^/\s]+)/.exec(detail ?? '');
  return url?.[1] ?? null;
}

export const checkTodo = (name: string): string =>
  t.providers.checks.todo[name] ?? 'Check the machine’s own log.';

export const checkTitle = (name: string): string => t.providers.checks.names[name] ?? name;

/** A machine's standing in words, without ticking figures. */
interface ProviderWords extends StateText {
  readonly tone: Tone;
  readonly what: string | null;
  readonly todo: string | null;
}

/** Engine statuses that add nothing to the sentence. */
const NO_NEWS = new Set(['', 'ok', 'unreachable']);

const SHOWN_ADDRESSES = 2;

const states = t.machineStates;

export function providerWords(standing: Standing, serverNow: number): ProviderWords {
  const { kind } = standing;
  return { tone: PLACES[kind][1], ...states[kind], ...whatOf(standing, serverNow) };
}

/** What is known of this machine, in another word than its kind's if that would mislead. */
type StandingText = Pick<ProviderWords, 'what' | 'todo'> & Partial<StateText>;

function whatOf(standing: Standing, serverNow: number): StandingText {
  switch (standing.kind) {
    case 'stopped':
      return say(`Shut down at ${formatMoment(standing.since, serverNow)}.`);
    case 'silent':
      return say(
        `No report since ${formatMoment(standing.since, serverNow)}.`,
        'Check that the machine is on, its agent runs and the network is up.',
      );
    case 'unreachable': {
      const shown = standing.entries.slice(0, SHOWN_ADDRESSES).map(failureText);
      const more = standing.entries.length - SHOWN_ADDRESSES;
      return say(
        `Its reports arrive, but it cannot be reached: ${shown.join(', ')}${
          more > 0 ? ` and ${counted(more, ADDRESSES)}` : ''
        }.`,
        checkTodo(CHECKS.health),
      );
    }
    case 'engine-down':
      if (standing.status === 'no engine found')
        return {
          ...t.agentStates.noEngine,
          ...say('No engine was found.', checkTodo(CHECKS.engineHealth)),
        };
      return say(engineText(standing), checkTodo(CHECKS.engineHealth));
    case 'check-failed':
      return checkWords(standing.failed);
    case 'wavering':
      return checkWords(
        standing.failed,
        ' It keeps serving; three failed tests in a row exclude it.',
      );
    case 'pending':
      return say(pendingText(standing.reason));
    case 'resting': {
      const { fails, lastError } = standing;
      if (fails === 0)
        return say(
          'It was too slow several times in a row and is skipped for now.',
          checkTodo(CHECKS.latency),
        );
      const reason = lastError === null ? null : reasonText(reasonOf(lastError));
      return say(
        `It failed ${counted(fails, REQUESTS)} in a row${reason === null ? '' : ` (${reason})`} and is skipped for now.`,
        'Check its engine’s log.',
      );
    }
    default:
      return say(UNEXPLAINED.has(standing.kind) ? states[standing.kind].means : null);
  }
}

function engineText({ status, code }: Extract<Standing, { readonly kind: 'engine-down' }>): string {
  if (status === 'unresponsive') return 'Its engine accepts connections but does not answer.';
  const told = code === 0 ? 'does not answer' : `answers HTTP ${code}`;
  return `Its engine ${told}${NO_NEWS.has(status) ? '' : ` (${status})`}.`;
}

/** Nothing more is known of them than what their word means. */
const UNEXPLAINED = new Set<StandingKind>(['paused', 'loading', 'draining', 'direct']);

/** A machine's own name: that of its host, or what it is if the host has none. */
export const providerName = ({ host, chip }: Pick<Provider, 'host' | 'chip'>): string =>
  host.hostname.trim() || chip?.trim() || 'Unnamed machine';

/** The names of all machines by their ids, the owner's first; two of one name are told apart. */
export function namesOf({
  data,
  notes = {},
}: Pick<Machines, 'data'> & Partial<Pick<Machines, 'notes'>>): ReadonlyMap<string, string> {
  const names = data.map((one) => [one.id, notes[one.id]?.name || providerName(one)]);
  return distinctNames(Object.fromEntries(names) as MachineNames);
}

/** An address that failed, and how: `tower:47901 (connection refused)`. */
function failureText(check: Check): string {
  const error = check.error?.trim() || 'failed';
  const address = addressOf(check);
  return address === null ? error : `${address} (${error})`;
}

function checkWords([first, ...others]: readonly CheckGroup[], grace = ''): StandingText {
  if (!first) return say('Its test failed.', 'Test it again.');
  const errors = first.entries.filter(({ passed }) => !passed).map(failureText);
  const more = others.length === 0 ? '' : ` ${counted(others.length, MORE_CHECKS)} failed.`;
  const what = `The check “${checkTitle(first.name)}” failed: ${errors.join(', ')}.${more}`;
  return say(what + grace, checkTodo(first.name));
}

function pendingText(reason: string): string {
  if (reason !== '' && failuresIn(reason).every(({ error }) => error === CHECK_MISSING)) {
    return 'Another model is loaded; it is tested within a minute.';
  }
  return reason === '' ? 'Waiting to be tested.' : `Waiting to be tested: ${reason}.`;
}

const say = (what: string | null, todo: string | null = null): StandingText => ({ what, todo });
