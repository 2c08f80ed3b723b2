import type { AttemptCause } from '#shared/live.ts';
import { type CancelSignal, dualTimeOf, sleep } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import { NEUTRAL } from '../circuits/breaker.ts';
import type { Knowledge } from '../memory/memory.ts';
import {
  hidesUsage,
  inCallersProtocol,
  type UpstreamAnswer,
  type PendingCall,
  type CallResult,
  sendAdjusted,
  tokensUsed,
} from '../upstream/exchange.ts';
import { REFUSAL_STATUSES } from '../upstream/adjustments.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import { classify, type Failure, type NoAnswer } from '../upstream/failure.ts';
import { shownError } from '../upstream/shown-error.ts';
import { Attempt, type AttemptDeps, type Permits } from './attempt.ts';
import type { RoutedRequest } from './candidates.ts';
import type { HungWatch } from './checker.ts';
import type { Turn } from './walk.ts';
import { pollPauseMs, type WarmupRunner } from './warmup.ts';

export interface CallDeps extends AttemptDeps {
  readonly http: HttpClient;
  /** In [0, 1). */
  readonly random: () => number;
  readonly warmup: WarmupRunner;
  readonly watchHung: HungWatch;
}

export interface CallOptions {
  /** Replaces the turn's own call, such as by a request for the rest of an answer. */
  readonly call?: UpstreamCall;
  readonly cause?: AttemptCause;
  /** Whether a short wait that the upstream asks for is waited out; left out: unless it is `local`. */
  readonly waitsForRoom?: boolean;
  /** Ends this call alone; left out: the caller's. */
  readonly signal?: CancelSignal;
  /** Called at first content of an answer that is being assembled. */
  readonly onContent?: () => void;
}

export interface CallAnswer {
  readonly kind: 'answered';
  readonly turn: Turn;
  /** As it was last sent, in which form of the request. */
  readonly call: UpstreamCall;
  readonly seen: UpstreamAnswer;
  readonly attempt: Attempt;
  /** The gateway asked for the stream's usage, which is not for the caller. */
  readonly hidesUsage: boolean;
}

export type CallOutcome =
  | CallAnswer
  | { readonly kind: 'failed'; readonly turn: Turn; readonly failure: Failure }
  | { readonly kind: 'cancelled' };

/**
 * Calls an upstream until it answers or is given up, all within one timeout. After a transient failure it is called
 * once more, an upstream that lacks the endpoint is asked for a chat completion, and `ondemand` is polled through
 * its cold start.
 */
export async function callUpstream(
  turn: Turn,
  request: RoutedRequest,
  deps: CallDeps,
  options: CallOptions = {},
): Promise<CallOutcome> {
  const { clock, circuits, memory } = deps;
  const { signal = request.signal, call = turn.call } = options;
  const { own } = turn.permits;
  if (turn.waitMs > 0 && !(await sleep(clock, turn.waitMs, signal))) {
    circuits.record(own, NEUTRAL);
    return CANCELLED;
  }
  const deadline = turn.at + turn.call.timeoutMs;
  const plan = { ...options, turn, request, deps, signal, deadline, known: memory.of(own.id) };
  let next: Try | null = { ...FIRST, call, permits: turn.permits };
  for (;;) {
    const { seen, pending, attempt } = await send(next, plan);
    const outcome = conclude(seen, pending, attempt, plan);
    if (outcome.kind !== 'failed') return outcome;
    const { failure } = outcome;
    next = nextTry(failure, next, attempt, plan);
    if (next !== null && next.waitMs !== null && !(await sleep(clock, next.waitMs, signal))) {
      attempt.end(CANCELLED);
      return CANCELLED;
    }
    next = next === null ? null : admitted(next, plan);
    if (next === null) return givenUp(failure, attempt, plan);
  }
}

const CANCELLED = { kind: 'cancelled' } as const;

/** What all tries of a turn share. */
interface CallPlan extends Omit<CallOptions, 'call'> {
  readonly turn: Turn;
  readonly request: RoutedRequest;
  readonly deps: CallDeps;
  readonly signal: CancelSignal;
  /** What is known of the upstream or machine. */
  readonly known: Knowledge;
  /** The end of all tries together, in clock ticks. */
  readonly deadline: number;
}

/** A call as it is sent next, and what was tried before it in this turn. */
interface Try {
  /** Whether it only asks a starting upstream again. */
  readonly isPoll: boolean;
  readonly call: UpstreamCall;
  readonly permits: Permits;
  /** Null if it is made at once. */
  readonly waitMs: number | null;
  readonly mayRetry: boolean;
  /** Calls after which a cold start went on. */
  readonly polls: number;
}

const FIRST = { isPoll: false, waitMs: null, mayRetry: true, polls: 0 } as const;

/** The next try after a failure; null if there is none. */
function nextTry(failure: Failure, before: Try, attempt: Attempt, plan: CallPlan): Try | null {
  const { call } = before;
  const { known, deps, request, waitsForRoom = call.upstream !== 'local' } = plan;
  const { clock, random, warmup } = deps;
  const { config, epoch } = request;
  const again = { ...before, isPoll: false, waitMs: null };
  if (failure.reason === 'unsupported')
    known.set('lacks', call.request.endpoint.upstreamPath, true);
  const other = inOtherForm(failure, call);
  if (other !== null) return { ...again, call: other };
  const leftMs = plan.deadline - clock.ticks();
  const roomMs = waitsForRoom ? roomInMs(failure, call, config.routing) : null;
  const waitMs = roomMs ?? (isHiccup(failure, call) ? 50 + random() * 150 : null);
  if (before.mayRetry && waitMs !== null && waitMs < leftMs) {
    // Meanwhile requests that can go elsewhere do.
    if (roomMs !== null && call.upstream === 'local') attempt.exclude(failure, epoch);
    return { ...again, waitMs, mayRetry: false };
  }
  if (!isColdStart(failure, call, warmup)) return null;
  warmup.seenStarting();
  const pauseMs = pollPauseMs(before.polls, leftMs);
  if (pauseMs === null) return null;
  const polls = before.polls + 1;
  return { ...again, isPoll: true, waitMs: pauseMs, mayRetry: false, polls };
}

/** What the upstream may take in place of a request that it refused. */
function inOtherForm({ reason, response }: Failure, call: UpstreamCall): UpstreamCall | null {
  if (reason === 'unsupported') return call.inChat();
  return REFUSAL_STATUSES.has(response?.status ?? 0) ? (call.repeated ?? null) : null;
}

/** Asks the circuit for one more try; null if it refuses. It counted the polls of a cold start as one call. */
function admitted(next: Try, { deps, request }: CallPlan): Try | null {
  const { isPoll, call, permits } = next;
  if (isPoll) return next;
  const { id } = permits.own;
  const admission = deps.circuits.admit(id, call, request.epoch, 'again');
  if (admission.kind === 'excluded') return null;
  return { ...next, permits: { ...permits, own: admission.permit } };
}

/** The upstream is excluded if its failure calls for that. An attempt without an end was still starting. */
function givenUp(
  failure: Failure,
  attempt: Attempt,
  { turn, request, deps }: CallPlan,
): CallOutcome {
  let last = failure;
  if (!attempt.hasEnded) {
    const endedAt = dualTimeOf(deps.clock);
    last = classify({ kind: 'timeout', wasSilent: false }, turn.call, endedAt.wallMs);
    attempt.end({ kind: 'failed', failure: last, error: last.detail, wasSilent: false, endedAt });
  }
  attempt.exclude(last, request.epoch);
  return { kind: 'failed', turn, failure: last };
}

/** The upstreams are ordered by preference, so a single 500 is retried before falling back. */
function isHiccup({ reason }: Failure, { upstream, isAlone }: UpstreamCall): boolean {
  // A 502 of `ondemand` means that it is starting; it is polled more slowly.
  return isAlone && (reason === 'http_500' || (reason === 'http_502' && upstream !== 'ondemand'));
}

/** How long an upstream that is full asks to wait, if that is short; else null. */
function roomInMs(
  { reason, retryAfterMs }: Failure,
  { upstream }: UpstreamCall,
  { retryAfterMaxMs }: RoutedRequest['config']['routing'],
): number | null {
  const isFull = reason === 'rate_limited' || (reason === 'busy' && upstream === 'local');
  return isFull && retryAfterMs !== null && retryAfterMs <= retryAfterMaxMs ? retryAfterMs : null;
}

/** Whether a failure only means that `ondemand` is still starting: it counts only when its timeout is over. */
function isColdStart(
  { reason }: Failure,
  { upstream }: UpstreamCall,
  warmup: WarmupRunner,
): boolean {
  return upstream === 'ondemand' && warmup.isStarting(reason);
}

/** Sends first and records while the call is in flight, which costs the caller no time. */
async function send(
  { isPoll, call, permits }: Try,
  {
    turn,
    request,
    deps,
    known,
    deadline,
    signal,
    cause = turn.mode === 'hedge' ? 'hedge' : 'turn',
    onContent,
  }: CallPlan,
) {
  let unwatch = () => {};
  const { idleTimeoutMs } = request.config.routing;
  const limits = { deadline, idleTimeoutMs, signal };
  const plan = {
    ...limits,
    call,
    known,
    onContent() {
      unwatch();
      onContent?.();
    },
  };
  if (isPoll) turn.attempt?.observer.polled();
  const { seen, pending } = await sendAdjusted(plan, deps, (sending) => {
    // An engine that has hung would keep a long prompt for as long as reading it may take.
    unwatch = deps.watchHung(permits.own.id, call, () => sending.giveUp());
    void sending.seen.then(unwatch);
    // A request that is sent once more belongs to the attempt that began with its first sending.
    if (turn.attempt?.hasEnded === false) turn.attempt.sentAgain(sending);
    else
      turn.attempt = new Attempt({ target: call, permits, cause, sending }, request.observer, deps);
  });
  // Made when it was first sent.
  return { seen, pending, attempt: turn.attempt as Attempt };
}

/** What came of a call; its attempt ends here if it gave no answer. */
function conclude(
  answer: CallResult,
  pending: PendingCall,
  attempt: Attempt,
  { turn, deps }: CallPlan,
): CallOutcome {
  const { call, changes } = pending.plan;
  const cut = attempt.used(tokensUsed(answer, pending));
  const whole = cut === 'again' ? withoutCut(answer, call) : answer;
  const seen = inCallersProtocol(whole, call);
  switch (seen.kind) {
    case 'stream':
    case 'bytes':
    case 'answer':
      if (call.upstream === 'ondemand') deps.warmup.used();
      return { kind: 'answered', turn, call, seen, attempt, hidesUsage: hidesUsage(call, changes) };
    case 'cancelled':
      attempt.end(seen);
      return seen;
    default:
      return { kind: 'failed', turn, failure: failureOf(seen, pending, attempt, deps) };
  }
}

function failureOf(
  seen: NoAnswer,
  { plan: { call }, request }: PendingCall,
  attempt: Attempt,
  { clock, warmup }: CallDeps,
): Failure {
  const endedAt = dualTimeOf(clock);
  const failure = classify(seen, call, endedAt.wallMs);
  const wasSilent = seen.kind === 'timeout' && seen.wasSilent;
  const error = shownError(failure, request.body);
  if (!isColdStart(failure, call, warmup))
    attempt.end({ kind: 'failed', failure, error, wasSilent, endedAt });
  return failure;
}

/** An answer of which nothing was sent is not given where the engine is known to cut: another upstream may read it all. */
function withoutCut(seen: CallResult, { model }: UpstreamCall): CallResult {
  const detail = `${model || 'the model'} read only a part of the prompt`;
  return seen.kind === 'answer' ? { kind: 'truncated', detail } : seen;
}
