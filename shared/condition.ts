import { mapUpstreams, type UpstreamId, UPSTREAM_IDS } from './ids.ts';
import { clause, inSentence } from './services.ts';
import type { StatusReport, UpstreamReport, WarmupState } from './status.ts';

/** What a request would meet at an upstream in its turn. */
export type Condition =
  | { readonly kind: 'missing'; readonly wants: 'address' | 'key' | 'engine' }
  | { readonly kind: 'no-provider'; readonly cause: NoProviderCause }
  /** Its owner lets it cost nothing: by the switch for all, or a budget of 0. */
  | { readonly kind: 'zero-spend'; readonly by: 'switch' | 'budget' }
  | { readonly kind: 'skipped'; readonly reason: string; readonly remainingMs: number }
  | ({
      readonly kind: 'cooling';
      readonly remainingMs: number;
      /** Remaining share of the cool-down, 0 to 1. */
      readonly share: number;
    } & Pause)
  /** The cool-down is over: the next request is the probe, unless one is running and keeps the others away. */
  | ({ readonly kind: 'probe'; readonly isRunning: boolean } & Pause)
  /** It is still called, but its last answers were failures. */
  | { readonly kind: 'failing'; readonly fails: number; readonly limit: number }
  | {
      readonly kind: 'on-demand';
      readonly warmup: WarmupState;
      /** Milliseconds since the current cold start began; null if there is none. */
      readonly startMs: number | null;
      /** Usual duration of a cold start; null if unknown. */
      readonly usualMs: number | null;
    }
  /** It was found down, though its circuit is closed; requests still try it. */
  | { readonly kind: 'down'; readonly reason: string; readonly by: 'request' | 'check' }
  /** No request or check has called it yet. */
  | { readonly kind: 'untested' }
  | {
      readonly kind: 'closed';
      /** Only checks have shown that it answers. */
      readonly isUnused: boolean;
    };

/** What a request, a check that costs nothing, or a test last found of an upstream. */
export type Sighting =
  /** Nothing has called it since it was configured. */
  | { readonly kind: 'untested' }
  | { readonly kind: 'answered'; readonly by: 'request' | 'check' }
  | { readonly kind: 'failed'; readonly by: 'request' | 'check'; readonly reason: string };

export type Sightings = Readonly<Record<UpstreamId, Sighting>>;

/** What a check finds of an engine that will answer once its model is in memory. */
export const LOADING = 'loading';

/** Why none of the machines serves: the cause of the one that is nearest to serving. */
export type NoProviderCause = Arrival | 'paused' | 'engine' | 'no-gpu' | 'failed' | 'silent';

/** What ends without its owner's help. */
export type Arrival = 'verifying' | typeof LOADING;

export const isArrival = (cause: NoProviderCause): cause is Arrival =>
  cause === 'verifying' || cause === LOADING;

/** Why a circuit is open: what happened how many times in a row. */
export interface Pause {
  readonly cause: 'failures' | 'slow';
  readonly times: number;
}

type Rows = Readonly<Record<'consecutiveFails' | 'consecutiveSlow', number>>;

export function pauseOf({ consecutiveFails, consecutiveSlow }: Rows): Pause {
  return consecutiveFails > 0
    ? { cause: 'failures', times: consecutiveFails }
    : { cause: 'slow', times: consecutiveSlow };
}

/** What the next request will meet: what the headline, the tray, notices and the command line put into words. */
export type Verdict =
  /** Nothing is set up. */
  | { readonly kind: 'bare' }
  /** Only `local` can serve, once its machine has loaded a model or passed its checks. */
  | { readonly kind: 'arriving'; readonly cause: Arrival }
  /** It answers, as far as anybody has seen; `ondemand` may have to start first. */
  | { readonly kind: 'serving'; readonly by: UpstreamId }
  /** It is called; nobody has seen whether it answers. */
  | { readonly kind: 'untested'; readonly by: UpstreamId }
  /** Nobody is known to answer. A request still calls `tries` first; null: it is refused at once. */
  | { readonly kind: 'stuck'; readonly tries: UpstreamId | null };

/** The state of each upstream, and what follows from all of them for the next request. */
export interface Judgement {
  readonly conditions: Readonly<Record<UpstreamId, Condition>>;
  readonly verdict: Verdict;
}

/** Why no call is admitted, and for how long. */
interface Hindrance {
  readonly reason: string;
  readonly waitMs: number;
  /** If the reason is an open circuit. */
  readonly pause: Pause;
}

/** Who would serve Local. */
export type LocalStanding =
  /** Its engine, or machines of the pool; `hindrance`: what keeps requests from every one of them. */
  | { readonly kind: 'present'; readonly hindrance: Hindrance | null }
  /** Null if nothing is set up. */
  | { readonly kind: 'absent'; readonly cause: NoProviderCause | null };

interface Evidence {
  readonly status: StatusReport;
  readonly sightings: Sightings;
  readonly local: LocalStanding;
  /** Upstreams whose probe is running. */
  readonly probing: ReadonlySet<string>;
}

export function judge(evidence: Evidence): Judgement {
  const found = evidence.status.upstreams.map(
    (report) => [report.id, conditionOf(report, evidence)] as const,
  );
  const conditions = {
    ...mapUpstreams((): Condition => ({ kind: 'missing', wants: 'address' })),
    ...Object.fromEntries(found),
  };
  return { conditions, verdict: verdictOf(found, evidence.status) };
}

/** The upstreams in the order in which a request asks them. */
type Conditions = readonly (readonly [id: UpstreamId, condition: Condition])[];

function verdictOf(found: Conditions, status: StatusReport): Verdict {
  if (found.every(([, { kind }]) => kind === 'missing')) return { kind: 'bare' };
  const sound = found.find(([, condition]) => isSound(condition));
  if (sound !== undefined) {
    const [by, { kind }] = sound;
    return { kind: kind === 'untested' ? 'untested' : 'serving', by };
  }
  const [arrival] = found.flatMap(([, condition]) =>
    condition.kind === 'no-provider' && isArrival(condition.cause) ? [condition.cause] : [],
  );
  const admitted = found.find(([, condition]) => isAdmitted(condition));
  const tries = admitted?.[0] ?? forcedFirst(status, found);
  return arrival !== undefined && tries === null
    ? { kind: 'arriving', cause: arrival }
    : { kind: 'stuck', tries };
}

/** If no other is left, a request goes to an upstream that is cooling down or busy: to the one that is due first. */
function forcedFirst({ upstreams }: StatusReport, found: Conditions): UpstreamId | null {
  const waits = found.flatMap(([id, condition]) => {
    const report = upstreams.find((each) => each.id === id);
    const isFirm = report?.skips.some(({ reason }) => !isForcible(reason));
    if (isFirm !== false) return [];
    if (condition.kind === 'cooling') return [{ id, waitMs: condition.remainingMs }];
    const isBusy = condition.kind === 'skipped' && isForcible(condition.reason);
    return isBusy ? [{ id, waitMs: condition.remainingMs }] : [];
  });
  return waits.toSorted((a, b) => a.waitMs - b.waitMs)[0]?.id ?? null;
}

function isForcible(reason: string): boolean {
  return reason === 'circuit_open' || reason === 'busy';
}

/** An upstream's condition; the cause that lasts longest takes precedence. */
function conditionOf(upstream: UpstreamReport, evidence: Evidence): Condition {
  const { status, sightings, local } = evidence;
  const sighting = sightings[upstream.id];
  const out =
    missingPart(upstream, evidence) ??
    unpaid(upstream, status) ??
    loading(sighting) ??
    activeSkip(upstream, Date.parse(status.timestamp));
  if (out !== null) return out;
  if (upstream.circuit.open) return openCondition(upstream, evidence);
  if (upstream.id === 'local' && local.kind === 'present' && local.hindrance !== null) {
    return hindered(local.hindrance, status);
  }
  if (isFailing(upstream, sighting)) {
    const { consecutiveFails: fails } = upstream.circuit;
    return { kind: 'failing', fails, limit: status.stats.config.failThreshold };
  }
  if (sighting.kind === 'failed') {
    return { kind: 'down', reason: sighting.reason, by: sighting.by };
  }
  if (upstream.id === 'ondemand') return onDemand(status);
  if (sighting.kind === 'untested') return { kind: 'untested' };
  const isUnused = sighting.by === 'check' && upstream.circuit.lastSuccessAt === null;
  return { kind: 'closed', isUnused };
}

function isFailing({ baseUrl, circuit }: UpstreamReport, sighting: Sighting): boolean {
  if (sighting.kind === 'answered') return false;
  const isRequests = sighting.kind === 'failed' && sighting.by === 'request';
  // The end of a call that began before the failure ends the count. Each machine of a pool has its own.
  const isUncounted = isRequests && baseUrl !== null && !isLasting(sighting.reason);
  return circuit.consecutiveFails > 0 || isUncounted;
}

const PERMANENT = new Set(['credentials', 'quota', 'model_not_found']);

/** True for an exclusion that only a person can end; the others expire. */
export const isLasting = (reason: string): boolean => PERMANENT.has(reason);

function unpaid({ id, budget }: UpstreamReport, { zero }: StatusReport): Condition | null {
  if (zero && id !== 'local') return { kind: 'zero-spend', by: 'switch' };
  return budget?.limit === 0 ? { kind: 'zero-spend', by: 'budget' } : null;
}

function loading(sighting: Sighting): Condition | null {
  const isLoading = sighting.kind === 'failed' && sighting.reason === LOADING;
  return isLoading ? { kind: 'no-provider', cause: LOADING } : null;
}

function openCondition(upstream: UpstreamReport, evidence: Evidence): Condition {
  const { status, sightings, probing } = evidence;
  const { cooldownRemainingMs: remainingMs } = upstream.circuit;
  const pause = pauseOf(upstream.circuit);
  if (probing.has(upstream.id)) return { kind: 'probe', ...pause, isRunning: true };
  if (remainingMs > 0) {
    const share = cooldownShare(upstream, status, remainingMs);
    return { kind: 'cooling', ...pause, remainingMs, share };
  }
  // An answered health check does not show that a slow upstream has become faster.
  const isHealed = sightings[upstream.id].kind === 'answered' && pause.cause === 'failures';
  return isHealed
    ? { kind: 'closed', isUnused: false }
    : { kind: 'probe', ...pause, isRunning: false };
}

/** All machines of the pool are excluded, each by its own circuit. */
function hindered({ reason, waitMs, pause }: Hindrance, { stats }: StatusReport): Condition {
  if (reason !== 'circuit_open') return { kind: 'skipped', reason, remainingMs: waitMs };
  const share = Math.min(1, waitMs / stats.config.cooldownMs);
  return { kind: 'cooling', ...pause, remainingMs: waitMs, share };
}

/** True if a request would be sent to the upstream in its turn. */
export function isAdmitted(condition: Condition): boolean {
  switch (condition.kind) {
    case 'closed':
    case 'on-demand':
    case 'failing':
    case 'down':
    case 'untested':
      return true;
    case 'probe':
      return !condition.isRunning;
    default:
      return false;
  }
}

function onDemand({ ondemand_warmup: warmup, ondemand_warmup_detail }: StatusReport): Condition {
  const { elapsedMs: startMs, usualMs } = ondemand_warmup_detail;
  return { kind: 'on-demand', warmup, startMs, usualMs };
}

function missingPart(upstream: UpstreamReport, { status, local }: Evidence): Condition | null {
  if (upstream.id !== 'local') {
    if (upstream.baseUrl === null) return { kind: 'missing', wants: 'address' };
    const isOut = upstream.circuit.open || upstream.skips.length > 0;
    // `healthy` is "set up, circuit closed, no skip"; given the last two, it says whether it is set up.
    return upstream.healthy || isOut || upstream.hasKey ? null : { kind: 'missing', wants: 'key' };
  }
  if (local.kind === 'present') return null;
  if (local.cause !== null) return { kind: 'no-provider', cause: local.cause };
  const { verified_count, pending_count, failed_count } = status.local;
  const hasMachine = verified_count + pending_count + failed_count > 0;
  return { kind: 'missing', wants: hasMachine ? 'engine' : 'address' };
}

function activeSkip(upstream: UpstreamReport, serverNow: number): Condition | null {
  const longest = upstream.skips
    .filter((skip) => skip.model === undefined || skip.model === upstream.model)
    .map(({ reason, until }) => ({ reason, remainingMs: Date.parse(until) - serverNow }))
    .filter(({ remainingMs }) => remainingMs > 0)
    .toSorted((a, b) => b.remainingMs - a.remainingMs)[0];
  return longest ? { kind: 'skipped', ...longest } : null;
}

/** The remaining share. The start is not reported: estimated by the last failure and the configured cool-down. */
function cooldownShare(
  { circuit }: UpstreamReport,
  { stats }: StatusReport,
  remainingMs: number,
): number {
  const sinceFailure = Date.parse(circuit.failUntil ?? '') - Date.parse(circuit.lastFailAt ?? '');
  const known = circuit.consecutiveFails > 0 && sinceFailure > 0 ? sinceFailure : 0;
  return Math.min(1, remainingMs / Math.max(known, stats.config.cooldownMs));
}

/**
 * True if a request in its turn is expected to be answered, or nobody knows better. After slowness, its probe is: it
 * was slow, but it did answer.
 */
export function isSound(condition: Condition): boolean {
  switch (condition.kind) {
    case 'closed':
    case 'on-demand':
    case 'untested':
      return true;
    case 'probe':
      return condition.cause === 'slow' && !condition.isRunning;
    default:
      return false;
  }
}

/** The condition `elapsedMs` later, as far as time alone changes it. */
export function conditionAfter(condition: Condition, elapsedMs: number): Condition {
  switch (condition.kind) {
    case 'cooling': {
      const remainingMs = Math.max(0, condition.remainingMs - elapsedMs);
      const { cause, times } = condition;
      if (remainingMs === 0) return { kind: 'probe', cause, times, isRunning: false };
      const share = (condition.share * remainingMs) / condition.remainingMs;
      return { ...condition, remainingMs, share };
    }
    case 'skipped':
      return { ...condition, remainingMs: Math.max(0, condition.remainingMs - elapsedMs) };
    case 'on-demand': {
      const { startMs } = condition;
      return { ...condition, startMs: startMs === null ? null : startMs + elapsedMs };
    }
    default:
      return condition;
  }
}

/** Milliseconds until the first cool-down or exclusion ends; null if there is none. */
export function nextEndMs({ conditions }: Judgement): number | null {
  const waits = Object.values(conditions).flatMap((condition) =>
    'remainingMs' in condition ? [condition.remainingMs] : [],
  );
  return waits.length === 0 ? null : Math.min(...waits);
}

/* The judgement in words, for the tray, notices and the command line; the window has its own catalogue. */

const REASONS: Readonly<Record<string, string>> = {
  rate_limited: 'is rate limited',
  quota: 'is out of quota',
  budget: 'has spent its budget',
  credentials: 'rejects your key',
  busy: 'is busy',
  model_not_found: 'does not know the model',
  unreachable: 'is unreachable',
  timeout: 'does not answer in time',
  bad_response: 'gives broken or unusable answers',
  verification: 'failed its last test',
};

export const CAUSES: Readonly<Record<NoProviderCause, string>> = {
  verifying: 'is being tested',
  loading: 'is loading a model',
  paused: 'is held back',
  engine: 'has no engine that answers',
  'no-gpu': 'has an engine, but no GPU',
  failed: 'has no machine that passed its test',
  silent: 'has no machine that reports to this gateway',
};

export const NO_BUDGET = 'has a budget of 0';
const NOTHING_SPENT = { switch: 'is paid, and no money may be spent', budget: NO_BUDGET };

/** Whether “Never spend money” keeps requests away. */
export const isSwitchedOff = (condition: Condition): boolean =>
  condition.kind === 'zero-spend' && condition.by === 'switch';

/** What the next request will meet, in a sentence without its full stop. */
export function verdictText(
  { verdict, conditions }: Judgement,
  nameOf: (id: UpstreamId) => string,
): string {
  switch (verdict.kind) {
    case 'bare':
      return 'Nothing is configured';
    case 'arriving':
      return clause(nameOf('local'), CAUSES[verdict.cause]);
    case 'stuck':
      return `Nothing can answer: ${whyNot(conditions, nameOf)}`;
    case 'serving':
    case 'untested':
      return servingText(conditions[verdict.by], nameOf(verdict.by));
  }
}

function servingText(condition: Condition, name: string): string {
  if (condition.kind === 'untested') return clause(name, 'is next, but untested');
  if (condition.kind === 'probe') return clause(name, 'is retried with the next request');
  if (condition.kind !== 'on-demand' || condition.warmup === 'ready')
    return `Serving from ${inSentence(name)}`;
  return condition.warmup === 'warming' ? `${name} is starting up` : `${name} is next (cold start)`;
}

function whyNot(conditions: Judgement['conditions'], nameOf: (id: UpstreamId) => string): string {
  const isOut = (id: UpstreamId) =>
    conditions[id].kind !== 'missing' && !isSwitchedOff(conditions[id]);
  const [first, ...rest] = UPSTREAM_IDS.filter(isOut);
  if (first === undefined) return '“Never spend money” is on, and your GPUs are not set up';
  const others = rest.length === 0 ? '' : `, and ${rest.length} more cannot`;
  const trouble = troubleIn(conditions[first]) ?? 'cannot serve';
  return `${inSentence(clause(nameOf(first), trouble))}${others}`;
}

/** What keeps an upstream from serving for the moment and ends by itself, without a known end; null if nothing does. */
export function passingIn(condition: Condition): string | null {
  if (condition.kind === 'no-provider' && isArrival(condition.cause))
    return CAUSES[condition.cause];
  return condition.kind === 'probe' && condition.isRunning ? 'is being tried again' : null;
}

/** Why an upstream is not known to answer; null for one that is. */
export const troubleIn = (condition: Condition): string | null =>
  passingIn(condition) ?? lastingIn(condition);

function lastingIn(condition: Condition): string | null {
  switch (condition.kind) {
    case 'missing':
      return 'is not set up';
    case 'no-provider':
      return CAUSES[condition.cause];
    case 'zero-spend':
      return NOTHING_SPENT[condition.by];
    case 'skipped':
      return REASONS[condition.reason] ?? `is skipped (${condition.reason})`;
    case 'cooling':
    case 'probe':
      return condition.cause === 'slow' ? 'was too slow' : 'keeps failing';
    case 'failing':
      return 'is failing';
    case 'down':
      return REASONS[condition.reason] ?? `does not answer (${condition.reason})`;
    case 'on-demand':
      return condition.warmup === 'failed' ? 'could not be started' : null;
    case 'untested':
    case 'closed':
      return null;
  }
}
