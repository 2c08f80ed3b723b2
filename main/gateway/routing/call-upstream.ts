import type { UpstreamId } from '#shared/ids.ts';
import type { AttemptCause } from '#shared/live.ts';
import type { Tokens } from '#shared/usage.ts';
import { type CancelSignal, type Clock, sleep } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import type { AdmissionMode } from '../circuits/breaker.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { Knowledge, Memory } from '../memory/memory.ts';
import {
  inCallersProtocol,
  type UpstreamAnswer,
  type CallResult,
  type PendingCall,
  sendAdjusted,
} from '../upstream/exchange.ts';
import { REFUSAL_STATUSES } from '../upstream/adjustments.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import { classify, type Failure } from '../upstream/failure.ts';
import { shownError } from '../protocols/upstream-error.ts';
import type { RoutedRequest } from './candidates.ts';
import type { HungWatch } from './checker.ts';
import type { CallEnd, CallProgress, Lessons, Permits, SentCall } from './lessons.ts';
import type { AttemptObserver } from './observer.ts';
import type { UpstreamOutcome } from './outcomes.ts';
import type { Cut } from './windows.ts';
import { pollPauseMs, type WarmupRunner } from './warmup.ts';

export interface CallDeps {
  readonly clock: Clock;
  readonly circuits: Circuits;
  readonly lessons: Lessons;
  readonly memory: Memory;
  readonly http: HttpClient;
  /** In [0, 1). */
  readonly random: () => number;
  readonly warmup: WarmupRunner;
  readonly watchHung: HungWatch;
}

/** A call that a circuit admitted; with its retries and polls one turn of its upstream. */
export interface Turn {
  readonly call: UpstreamCall;
  readonly mode: AdmissionMode;
  /** When it was admitted, in clock ticks. */
  readonly at: number;
  /** Of its last try. */
  permits: Permits;
  /** What came of those whose turn came before, in routing order. */
  readonly before: () => readonly UpstreamOutcome[];
  /** How long it waits before it is called; null: not at all. */
  readonly waitMs: number | null;
  /** Its last attempt; null until it was sent. */
  attempt: Attempt | null;
}

export interface CallOptions {
  /** Replaces the turn's own call, such as by a request for the rest of an answer. */
  readonly call?: UpstreamCall;
  readonly cause?: AttemptCause;
  /** Where the request may go if this call fails. */
  readonly walk: { readonly hasAhead: (which: (id: UpstreamId) => boolean) => boolean };
  /** Ends this call, and no other of the request's. */
  readonly signal: CancelSignal;
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
  options: CallOptions,
): Promise<CallOutcome> {
  const { clock, circuits, memory } = deps;
  const { signal, call = turn.call } = options;
  const { id } = turn.permits.own;
  const deadline = turn.at + turn.call.timeoutMs;
  const plan = { ...options, turn, request, deps, deadline, known: memory.of(id) };
  let next: Try = { call, isPoll: false, waitMs: turn.waitMs, mayRetry: true, polls: 0 };
  let failure: Failure | null = null;
  for (;;) {
    if (next.waitMs !== null && !(await sleep(clock, next.waitMs, signal)))
      return { kind: 'cancelled' };
    if (failure !== null && !next.isPoll) {
      const admission = circuits.admit(id, next.call, request.epoch, 'again');
      if (admission.kind === 'excluded') return givenUp(failure, plan);
      turn.permits = { ...turn.permits, own: admission.permit };
    }
    const outcome = conclude(await send(next, plan), plan);
    if (outcome.kind !== 'failed') return outcome;
    ({ failure } = outcome);
    const again = nextTry(failure, next, plan);
    if (again === null) return givenUp(failure, plan);
    next = again;
  }
}

/** The pause before a retry, spread so that calls which failed together are not made again together. */
const [PAUSE_MS, SPREAD_MS] = [50, 150];

/** What all tries of a turn share. */
interface CallPlan extends Omit<CallOptions, 'call'> {
  readonly turn: Turn;
  readonly request: RoutedRequest;
  readonly deps: CallDeps;
  /** What is known of the upstream or machine. */
  readonly known: Knowledge;
  /** The end of all tries together, in clock ticks. */
  readonly deadline: number;
}

/** A call as it is sent next, and what was tried before it in this turn. */
interface Try {
  readonly call: UpstreamCall;
  /** It only asks a starting upstream again, whose polls the circuit counts as one call. */
  readonly isPoll: boolean;
  /** Null if it is made at once. */
  readonly waitMs: number | null;
  readonly mayRetry: boolean;
  /** Calls after which a cold start went on. */
  readonly polls: number;
}

/** The next try after a failure; null if there is none. */
function nextTry(failure: Failure, before: Try, plan: CallPlan): Try | null {
  const { call, mayRetry, polls } = before;
  const { turn, known, deps, request, walk } = plan;
  const { routing } = request.config;
  const { attempt } = turn;
  if (failure.reason === 'unsupported')
    known.set('lacks', call.request.endpoint.upstreamPath, true);
  const other = inOtherForm(failure, call);
  if (other !== null) return { ...before, call: other, isPoll: false, waitMs: null };
  const leftMs = plan.deadline - deps.clock.ticks();
  const isOther = (id: UpstreamId) => routing.hedge === 'all' || id === 'local';
  // For `local` if no other machine is left, before money is spent.
  const waitsForRoom = call.upstream !== 'local' || !walk.hasAhead(isOther);
  const roomMs = waitsForRoom ? roomInMs(failure, call, routing) : null;
  const waitMs = roomMs ?? (isHiccup(failure, call) ? PAUSE_MS + deps.random() * SPREAD_MS : null);
  if (mayRetry && waitMs !== null && waitMs < leftMs) {
    // Meanwhile requests that can go elsewhere do.
    if (roomMs !== null && call.upstream === 'local' && attempt !== null)
      deps.lessons.exclude(attempt.call, failure, request.epoch);
    return { call, isPoll: false, waitMs, mayRetry: false, polls };
  }
  // Only what is still starting has an attempt without an end.
  if (attempt?.hasEnded !== false) return null;
  deps.warmup.seenStarting();
  const pauseMs = pollPauseMs(polls, leftMs);
  if (pauseMs === null) return null;
  return { call, isPoll: true, waitMs: pauseMs, mayRetry: false, polls: polls + 1 };
}

/** What the upstream may take in place of a request that it refused. */
function inOtherForm({ reason, response }: Failure, call: UpstreamCall): UpstreamCall | null {
  if (reason === 'unsupported') return call.inChat();
  return REFUSAL_STATUSES.has(response?.status ?? 0) ? (call.repeated ?? null) : null;
}

/** The upstream is excluded if its failure calls for that. What is still starting then was too slow. */
function givenUp(failure: Failure, { turn, request, deps }: CallPlan): CallOutcome {
  const { attempt, call } = turn;
  let last = failure;
  if (attempt?.hasEnded === false) {
    last = classify({ kind: 'timeout', wasSilent: false }, call, deps.clock.now());
    attempt.end({ kind: 'failed', failure: last, error: last.detail, wasSilent: false });
  }
  if (attempt !== null) deps.lessons.exclude(attempt.call, last, request.epoch);
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

/** Sends first and records while the call is in flight, which costs the caller no time. */
function send({ isPoll, call }: Try, plan: CallPlan) {
  const { turn, request, deps, known, deadline, signal, walk } = plan;
  const { idleTimeoutMs } = request.config.routing;
  let unwatch: ReturnType<HungWatch> = null;
  const onContent = () => {
    unwatch?.();
    turn.attempt?.firstContent(deps.clock.ticks());
    plan.onContent?.();
  };
  const exchange = { call, known, deadline, idleTimeoutMs, signal, onContent };
  if (isPoll) turn.attempt?.observer.polled();
  return sendAdjusted(exchange, deps, (sending) => {
    // An engine that has hung would keep a long prompt for as long as reading it may take.
    unwatch = deps.watchHung(turn.permits.own.id, call, () => {
      if (walk.hasAhead(() => true)) sending.giveUp();
    });
    if (unwatch !== null) void sending.seen.then(unwatch);
    // A request that is sent once more belongs to the attempt that began with its first sending.
    if (turn.attempt?.hasEnded === false) turn.attempt.sentAgain(sending);
    else turn.attempt = new Attempt({ target: call, permits: turn.permits, known }, sending, plan);
  });
}

/**
 * A call from its sending to its one end: what it teaches is learnt first, then the observer is notified. Later ends are
 * ignored.
 */
export class Attempt implements CallProgress {
  readonly call: SentCall;
  readonly observer: AttemptObserver;
  readonly #lessons: Lessons;
  sentAt: number;
  /** As it was first sent; null once it was sent again, or its answer is being sent. */
  #first: PendingCall | null;
  hasEnded = false;
  ttftMs: number | null = null;
  tokens: Tokens | null = null;
  cut: Cut | null = null;
  repairedCalls = 0;

  constructor(call: SentCall, sending: PendingCall, { turn, request, deps, ...plan }: CallPlan) {
    const { target, permits } = call;
    const { own, pool } = permits;
    const { circuits, lessons } = deps;
    this.call = call;
    this.sentAt = sending.sentAt;
    this.#first = sending;
    this.#lessons = lessons;
    const ids = pool === null ? [own.id] : [own.id, pool.id];
    this.observer = request.observer.attemptStarted({
      target,
      cause: plan.cause ?? (turn.mode === 'hedge' ? 'hedge' : 'turn'),
      before: turn.before,
      startedAt: sending.sentAt,
      ids,
      circuit: circuits.at(own.id).breaker.state.kind,
    });
    for (const id of ids) circuits.sent(id);
  }

  /** It was sent once more: changed, as the upstream asked for it, or because that is still starting. */
  sentAgain({ sentAt }: PendingCall): void {
    this.sentAt = sentAt;
    this.#first = null;
  }

  /** The answer is being sent; first content came at `contentAt` clock ticks (null: it came as a whole). */
  answering(contentAt: number | null): void {
    // The request must not stay in memory for as long as the answer goes on.
    this.#first = null;
    this.observer.answering(contentAt);
    if (this.ttftMs === null) this.firstContent(contentAt);
  }

  /** The content of an answer that is assembled comes long before the answer is sent. */
  firstContent(contentAt: number | null): void {
    if (contentAt !== null) this.ttftMs = contentAt - this.sentAt;
    this.#lessons.answering(this);
  }

  /** Call it before the end. Returns whether the engine has read only a part of the prompt, as far as it tells. */
  used(tokens: Tokens | null): Cut | null {
    this.tokens = tokens;
    this.cut ??= this.#lessons.used(this);
    return this.cut;
  }

  end(end: CallEnd): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    const isLost = end.kind === 'cancelled' || end.kind === 'outrun';
    const isRecalled = isLost && this.#first?.hasLeft() === false;
    this.observer.ended(this.#lessons.ended(this, end, isRecalled));
  }
}

/** What came of a call; its attempt ends here if it gave no answer, and is not still starting. */
function conclude(
  { seen: came, pending }: Awaited<ReturnType<typeof send>>,
  { turn, deps }: CallPlan,
): CallOutcome {
  // Made when it was first sent.
  const attempt = turn.attempt as Attempt;
  const { call } = pending.plan;
  const cut = attempt.used(pending.used(came));
  const whole = cut === 'again' ? withoutCut(came, call) : came;
  const seen = inCallersProtocol(whole, call);
  switch (seen.kind) {
    case 'stream':
    case 'bytes':
    case 'answer':
      if (call.upstream === 'ondemand') deps.warmup.used();
      return { kind: 'answered', turn, call, seen, attempt, hidesUsage: pending.hidesUsage() };
    case 'cancelled':
      attempt.end(seen);
      return seen;
    default: {
      const failure = classify(seen, call, deps.clock.now());
      const wasSilent = seen.kind === 'timeout' && seen.wasSilent;
      const error = shownError(failure, pending.request.body);
      // `ondemand` may only be starting, which counts when its timeout is over.
      const isStarting = call.upstream === 'ondemand' && deps.warmup.isStarting(failure.reason);
      if (!isStarting) attempt.end({ kind: 'failed', failure, error, wasSilent });
      return { kind: 'failed', turn, failure };
    }
  }
}

/** An answer of which nothing was sent is not given where the engine is known to cut: another upstream may read it all. */
function withoutCut(seen: CallResult, { model }: UpstreamCall): CallResult {
  const detail = `${model || 'the model'} read only a part of the prompt`;
  return seen.kind === 'answer' ? { kind: 'truncated', detail } : seen;
}
