import { TOKENS, TOOL_CALLS } from '../../text/en/nouns.ts';
import { assertNever } from '#shared/assert.ts';
import type { MachineNames } from '#shared/ids.ts';
import { timedOutputOf, type AttemptRow, type RequestRow } from '#shared/live.ts';
import { distinctNames, machinesIn, unknownMachine } from '#shared/machine-names.ts';
import { OUTRUN, parseFallbackReason, predicateOf as causeOf } from '#shared/reasons.ts';
import { clause, inSentence } from '#shared/services.ts';
import type { UpstreamReport } from '#shared/status.ts';
import type { LiveData } from '../../api/window-state.ts';
import type { Tone } from '../../text/en/states.ts';
import { formatDuration, formatList, formatCount, counted } from '../../text/format.ts';
import { reasonText } from '../../text/reason-text.ts';
import * as t from '../../text/t.ts';

/** Apps are told of machines; their owner, who may have one, reads the word of the headline. */
const predicateOf = (reason: string): string =>
  reason === 'no_provider' ? 'was down' : causeOf(reason);

export type Labels = ReadonlyMap<string, string>;

export function labelsOf(
  upstreams: readonly UpstreamReport[],
  machines: MachineNames = {},
): Labels {
  const named = upstreams.map(({ id, label }) => [id, label] as const);
  return new Map([...named, ...distinctNames(machines)]);
}

export const feedLabels = ({ status, requests }: Pick<LiveData, 'status' | 'requests'>): Labels =>
  labelsOf(status.upstreams, machinesIn(requests));

/** What each filter shows. A service whose model an app asks for answers directly as well, but is no GPU of the owner. */
export const filterWords = ({ ended, upstreams }: LiveData['outcomes']) => ({
  all: 'All',
  'first-choice': ended['first-choice'] > upstreams.local.answered ? 'Directly' : 'By your GPUs',
  'fell-back': 'By a fallback',
  failed: 'Not answered',
});

/** Adds the names of a request's machines, which may not be in the list. */
export function labelsWith(row: RequestRow | null, labels: Labels): Labels {
  if (row === null) return labels;
  return new Map([...distinctNames(machinesIn([row])), ...labels]);
}

/** The upstream of an attempt, with its machine if the request went to more than one. */
export function nameOf(
  { upstream, provider }: AttemptRow,
  { attempts }: RequestRow,
  labels: Labels,
): string {
  const label = labels.get(upstream) ?? upstream;
  const isOneOfMany = attempts.some(
    (other) => other.provider !== null && other.provider !== provider,
  );
  return provider !== null && isOneOfMany ? placeName(upstream, provider, labels) : label;
}

export const wholeNameOf = ({ upstream, provider }: AttemptRow, _: RequestRow, labels: Labels) =>
  placeName(upstream, provider, labels);

/** An upstream, with the machine if given: `Local · tower`. */
export function placeName(upstream: string, provider: string | null, labels: Labels): string {
  const label = labels.get(upstream) ?? upstream;
  return provider === null ? label : t.usage.machineOf(label, machineName(provider, labels));
}

export const machineName = (id: string, labels: Labels): string =>
  labels.get(id) ?? unknownMachine(id);

export function gaveContent(attempt: AttemptRow, row: RequestRow): boolean {
  const { firstContentMs, reason } = attempt;
  return firstContentMs !== null && reason !== OUTRUN && !hasDiverged(attempt, row);
}

/** True for a resume whose text did not match the partial answer. */
export const hasDiverged = ({ cause, endMs, reason }: AttemptRow, { state }: RequestRow): boolean =>
  cause === 'resume' && state === 'broken' && endMs !== null && reason === null;

/** Index of the last dropped answer before `index`; -1 if none. */
export function brokenBefore(attempts: readonly AttemptRow[], index: number): number {
  return attempts
    .slice(0, index)
    .findLastIndex(({ firstContentMs, reason }) => firstContentMs !== null && reason !== OUTRUN);
}

/** The slow call that was hedged; null if it was not kept. */
export function hedgedCall(hedge: AttemptRow, { attempts }: RequestRow): AttemptRow | null {
  const before = attempts.slice(0, attempts.indexOf(hedge));
  return before.findLast(({ endMs }) => endMs === null || endMs >= hedge.startMs) ?? null;
}

export function causeText(attempt: AttemptRow, row: RequestRow, labels: Labels): string {
  const { attempts } = row;
  const at = attempts.indexOf(attempt);
  switch (attempt.cause) {
    case 'turn': {
      const before = attempts[at - 1];
      const isAgain = before?.upstream === attempt.upstream && before.provider === attempt.provider;
      if (isAgain) return 'retry';
      return attempt.circuitBefore === 'open' ? 'no other source was left' : 'next in line';
    }
    case 'hedge': {
      const slow = hedgedCall(attempt, row);
      return slow === null ? 'asked too' : clause(nameOf(slow, row, labels), 'was slow');
    }
    case 'resume': {
      const broken = attempts[brokenBefore(attempts, at)];
      return broken === undefined
        ? 'continuation'
        : `${nameOf(broken, row, labels)} dropped the stream`;
    }
  }
}

export function tokensPerSecond(attempt: AttemptRow): number | null {
  const timed = timedOutputOf(attempt);
  return timed === null ? null : (1000 * timed.tokens) / timed.ms;
}

/**
 * Tokens of a call, with their rate if they were streamed, and what its machine or host had of them; null if none were
 * counted.
 */
export function usageText(attempt: AttemptRow): string | null {
  const { tokens, reading, isHashFixed, repairedCalls = 0 } = attempt;
  if (tokens === null) return null;
  const perSecond = tokensPerSecond(attempt);
  const parts = [
    t.usage.tokens(tokens),
    perSecond === null ? '' : t.usage.rate(perSecond),
    tokens.cached === 0
      ? ''
      : `${formatCount(tokens.cached)} of ${counted(tokens.input, TOKENS)} from its cache`,
    reading === undefined ? '' : t.usage.reading(reading),
    isHashFixed === true ? 'cch in its prompt held constant' : '',
    repairedCalls === 0 ? '' : `${counted(repairedCalls, TOOL_CALLS)} repaired`,
  ];
  return parts.filter(Boolean).join(' · ');
}

export function resultText(attempt: AttemptRow, row: RequestRow): string {
  const { cause, endMs, firstContentMs, reason } = attempt;
  if (reason !== null) {
    const isBroken = firstContentMs !== null && reason !== OUTRUN;
    return isBroken ? 'dropped' : reasonText(reason);
  }
  if (endMs === null) return firstContentMs === null ? 'waiting' : 'answering';
  if (hasDiverged(attempt, row)) return 'different answer';
  if (row.state === 'broken') return 'dropped';
  if (row.state === 'cancelled') return 'cancelled by the app';
  return cause === 'resume' ? 'continued it' : 'answered';
}

/** What an attempt had to do with a pause of its upstream, as in `tried after a pause, and paused again`; null if nothing. */
export function pauseText({ circuitBefore, circuitAfter }: AttemptRow): string | null {
  const isPaused = circuitAfter === 'open' && circuitBefore !== 'open';
  if (circuitBefore === 'closed') return isPaused ? 'paused after it' : null;
  const before = circuitBefore === 'open' ? 'tried in a pause' : 'tried after a pause';
  return isPaused ? `${before}, and paused again` : before;
}

/** Upstreams that were not called: named in the fallback reason, but without an attempt. */
export function skippedUpstreams({
  attempts,
  fallbackReason,
}: RequestRow): ReturnType<typeof parseFallbackReason> {
  return parseFallbackReason(fallbackReason).filter(
    ({ upstream }) => !attempts.some((attempt) => attempt.upstream === upstream),
  );
}

const words = t.story;

/** One sentence, such as `Hosted A was slow; Hosted B answered first`. */
export function storyOf(row: RequestRow, labels: Labels): string {
  const clauses = storyClauses(row, labels).map(({ text }) => text);
  return sentenceOf([...clauses, ...endOf(row, labels, clauses.length > 0)]);
}

const sentenceOf = (clauses: readonly string[]): string =>
  [...new Set(clauses)].map((each, at) => (at === 0 ? each : inSentence(each))).join('; ');

/** The outcome, if the attempts do not show it. */
function endOf(row: RequestRow, labels: Labels, isBegun: boolean): readonly string[] {
  const { attempts, state, upstream } = row;
  const given = attempts.some((attempt) => gaveContent(attempt, row));
  switch (state) {
    case 'running':
      return isBegun ? [] : ['no source called yet'];
    case 'done':
      return given || upstream === null ? [] : [`${labels.get(upstream) ?? upstream} answered`];
    case 'failed':
      if (upstream !== null) return ['the error was passed on'];
      return [attempts.length === 0 ? 'no source could be called' : 'no source answered'];
    case 'broken':
      return attempts.some(({ cause }) => cause === 'resume')
        ? ['the answer stayed incomplete']
        : [];
    case 'cancelled':
      return ['the app disconnected'];
  }
}

/** A part of the story; at equal times an answer comes after its causes. */
interface Clause {
  readonly atMs: number;
  readonly isAnswer: boolean;
  readonly text: string;
}

function storyClauses(row: RequestRow, labels: Labels): readonly Clause[] {
  const clauses = row.attempts
    .flatMap((attempt) => clausesOf(attempt, row, labels))
    .toSorted((a, b) => a.atMs - b.atMs || Number(a.isAnswer) - Number(b.isAnswer));
  return [...passedBy(row, labels), ...clauses];
}

function passedBy(row: RequestRow, labels: Labels): readonly Clause[] {
  return skippedUpstreams(row).map(({ upstream, reason }) =>
    aside(0, clause(labels.get(upstream) ?? upstream, predicateOf(reason))),
  );
}

function clausesOf(attempt: AttemptRow, row: RequestRow, labels: Labels): readonly Clause[] {
  const { cause, startMs, endMs, firstContentMs, reason } = attempt;
  const name = nameOf(attempt, row, labels);
  const slow = cause === 'hedge' ? hedgedCall(attempt, row) : null;
  const led = slow === null ? [] : [aside(startMs, slowText(slow, row, labels))];
  const atMs = endMs ?? Infinity;
  if (reason === OUTRUN && cause === 'hedge') {
    return [...led, aside(atMs, clause(name, 'was called as well'))];
  }
  if (reason !== null) {
    const isBroken = firstContentMs !== null && reason !== OUTRUN;
    const text = clause(name, isBroken ? words.dropped : predicateOf(reason));
    return [...led, aside(atMs, text)];
  }
  if (firstContentMs === null) {
    const isSaid = endMs !== null || row.attempts.some((other) => isBeside(other, attempt, row));
    return isSaid ? led : [...led, aside(atMs, clause(name, words.called[cause]))];
  }
  return [
    ...led,
    { ...aside(firstContentMs, clause(name, answerText(attempt, row))), isAnswer: true },
  ];
}

const isBeside = (hedge: AttemptRow, slow: AttemptRow, row: RequestRow): boolean =>
  hedge.cause === 'hedge' && hedgedCall(hedge, row) === slow;

function slowText(slow: AttemptRow, row: RequestRow, labels: Labels): string {
  const isWaitedFor = slow.endMs === null && slow.firstContentMs === null;
  const name = nameOf(slow, row, labels);
  return clause(name, isWaitedFor ? 'is slow' : predicateOf(OUTRUN));
}

const aside = (atMs: number, text: string): Clause => ({
  atMs,
  isAnswer: false,
  text,
});

function answerText(attempt: AttemptRow, row: RequestRow): string {
  const { cause, endMs } = attempt;
  if (hasDiverged(attempt, row)) return 'gave a different answer';
  if (row.state === 'broken' && endMs !== null) return words.dropped;
  if (cause === 'resume')
    return endMs === null ? 'is continuing the answer' : 'continued the answer';
  if (endMs === null) return 'is answering';
  return row.attempts.some(({ reason }) => reason === OUTRUN) ? 'answered first' : 'answered';
}

type OutcomeWords = Readonly<{ tone: Tone; word: string }>;

export function outcomeWords(row: RequestRow, elapsedMs: number): OutcomeWords {
  switch (row.state) {
    case 'running':
      return runningWords(row, elapsedMs);
    case 'done':
      return { tone: 'green', word: 'done' };
    case 'failed':
      return { tone: 'red', word: row.status === null ? 'failed' : `failed · ${row.status}` };
    case 'broken':
      return { tone: 'red', word: 'dropped' };
    case 'cancelled':
      return { tone: 'grey', word: 'cancelled' };
    default:
      return assertNever(row.state, 'request state');
  }
}

/** Longer than the usual pause between two tokens. */
const SILENT_FROM_MS = 2_000;

/** How long a started answer has been silent, or was before its end, in milliseconds; 0 below two seconds. */
export function silentMsOf(attempt: AttemptRow, elapsedMs: number): number {
  const { firstContentMs, lastContentMs, endMs } = attempt;
  if (firstContentMs === null || lastContentMs === null) return 0;
  const silentMs = (endMs ?? elapsedMs) - Math.max(firstContentMs, lastContentMs);
  return silentMs < SILENT_FROM_MS ? 0 : silentMs;
}

function runningWords({ attempts }: RequestRow, elapsedMs: number): OutcomeWords {
  const silentMs = Math.max(0, ...attempts.map((attempt) => silentMsOf(attempt, elapsedMs)));
  if (silentMs > 0) return { tone: 'amber', word: `silent for ${formatDuration(silentMs)}` };
  const isAnswering = attempts.some(
    ({ firstContentMs, endMs }) => firstContentMs !== null && endMs === null,
  );
  if (isAnswering) return { tone: 'green', word: 'answering' };
  const isBroken = attempts.some(({ cause }) => cause === 'resume');
  return { tone: 'grey', word: isBroken ? 'switching source' : 'waiting' };
}

/** The upstreams that gave the answer or are being called; `No answer` if none gave one. */
export function whoOf(row: RequestRow, labels: Labels, naming = nameOf): string {
  const { attempts, upstream, state } = row;
  const name = (attempt: (typeof attempts)[number]) => naming(attempt, row, labels);
  const givers = attempts.filter((attempt) => gaveContent(attempt, row));
  if (givers.length > 0) return givers.map(name).join(', then ');
  if (upstream !== null) return labels.get(upstream) ?? upstream;
  if (state !== 'running') return 'No answer';
  const asked = attempts.filter(({ endMs }) => endMs === null);
  const named = asked.length > 0 ? asked : attempts.slice(-1);
  return named.length > 0 ? formatList(named.map(name)) : 'choosing';
}

/**
 * The story if calls ran concurrently or an answer was resumed, otherwise why earlier attempts did not answer, and what
 * was read again; null if the first one answered from its cache.
 */
export function whyOf(row: RequestRow, labels: Labels): string | null {
  if (row.attempts.some(({ cause }) => cause !== 'turn')) return storyOf(row, labels);
  const again = row.attempts.flatMap(({ reading }) =>
    reading === undefined || reading.again === 0 ? [] : [t.usage.reading(reading)],
  );
  return [fallbackText(row.fallbackReason, labels), ...again].filter(Boolean).join('; ') || null;
}

/** Why the upstreams in a fallback header did not answer; null if it names none. */
export function fallbackText(header: string, labels: Labels): string | null {
  const passed = parseFallbackReason(header).map(({ upstream, provider, reason }) =>
    clause(placeName(upstream, provider, labels), predicateOf(reason)),
  );
  return passed.length === 0 ? null : sentenceOf(passed);
}

/** Tokens of the answer and their rate; estimated as one per event until they are counted. */
export function amountOf(row: RequestRow): string {
  const { events, stream, state, tokens, attempts } = row;
  const giver = attempts.findLast((attempt) => gaveContent(attempt, row));
  const perSecond = giver === undefined ? null : tokensPerSecond(giver);
  const rate = perSecond === null ? [] : [t.usage.rate(perSecond)];
  if (tokens !== null && tokens.output > 0) {
    return [t.requests.tokens(tokens.output, tokens.estimated), ...rate].join(' · ');
  }
  if (events > 0) return t.requests.tokens(events, true);
  return !stream && state === 'done' ? 'not streamed' : '';
}

/** What was asked for, with the model that answered if it is another, and by whom. */
export function whatOf(row: RequestRow): { readonly model: string; readonly app: string | null } {
  const answered = answeredModel(row);
  const named = row.model ?? answered ?? row.attempts.at(-1)?.model ?? 'no model named';
  const model = isReplaced(row) ? `${named} → ${answered}` : named;
  return { model, app: row.key ?? appName(row) };
}

export const answeredModel = (row: RequestRow): string | null =>
  row.attempts.findLast((attempt) => gaveContent(attempt, row))?.model ?? null;

/** Whether another model answered than the one that was asked for, by its own name or behind that of its service. */
export function isReplaced(row: RequestRow): boolean {
  const answered = answeredModel(row);
  const { model } = row;
  return model !== null && answered !== null && !`/${model}`.endsWith(`/${answered}`);
}

/** Whether the request was a prompt that was tried in the window. */
export const isFromBrowser = ({ caller }: Pick<RequestRow, 'caller'>): boolean =>
  BROWSER.test(caller.userAgent ?? '') && caller.key === 'control session';

/** The user agent of every browser begins so. */
const BROWSER = /^Mozilla\//;

/**
 * The app that sent a request, as its user agent names it: `OpenAI/Python 1.40.0` is "OpenAI Python", `curl/8.5.0`
 * "curl". Null if it did not say.
 */
export function appName({ caller }: Pick<RequestRow, 'caller'>): string | null {
  const agent = caller.userAgent?.trim() ?? '';
  if (agent === '') return null;
  if (BROWSER.test(agent)) return 'a browser';
  // A version begins with a digit or a `v`; what stands before the first of them is the name.
  const [product = agent] = agent.split(/[/ ]+v?\d/, 1);
  const name = product.replaceAll('/', ' ').replace(/\s*\(.*$/, '');
  return name.trim() || agent;
}
