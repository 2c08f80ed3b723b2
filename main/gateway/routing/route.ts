import type { UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import { Cancellation } from '../../platform/clock.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import {
  type CallAnswer,
  type CallDeps,
  type CallOutcome,
  callUpstream,
  type Turn,
} from './call-upstream.ts';
import type { CandidateDeps, RoutedRequest } from './candidates.ts';
import {
  fallbackReason,
  reasonOf,
  type Unanswered,
  unanswered,
  type UpstreamOutcome,
} from './outcomes.ts';
import { Walk } from './walk.ts';

export interface RouterDeps extends CallDeps, CandidateDeps {
  readonly budget: ReturnType<typeof createHedgeBudget>;
  /** Ends once the fixed engine is known; null if it has been since its last failure, or there is none. */
  readonly identifyLocal: (failedAt: number | null) => Promise<void> | null;
  /** A model of the fixed engine has answered. */
  readonly localUsed: (model: string) => void;
}

export type RouteResult =
  | {
      readonly kind: 'answered';
      readonly answer: CallAnswer;
      /** The calls that are left, should the answer break off. */
      readonly walk: Walk;
      /** As in `X-Gateway-Fallback-Reason`. */
      readonly reason: string;
    }
  | Unanswered
  | { readonly kind: 'cancelled' };

/**
 * Tries the upstreams in routing order until one answers (docs/reference/routing-rules.md). As soon as `local` is lost the
 * on-demand upstream is warmed up, without waiting for it.
 */
export async function route(request: RoutedRequest, deps: RouterDeps): Promise<RouteResult> {
  await localIdentified(request, deps);
  deps.budget.requested();
  const walk = new Walk(request, deps, (outcomes) => warmUpAfter(outcomes, walk, request, deps));
  while (!request.signal.aborted) {
    // With nobody left, the excluded upstream that is back soonest is called all the same.
    const turn = walk.next() ?? walk.force();
    if (turn === null) return unanswered(walk.outcomes(null));
    const outcome = await callOrHedge(turn, walk, request, deps);
    if (outcome.kind === 'cancelled') break;
    if (outcome.kind === 'answered') {
      walk.answered(outcome.turn);
      noteAnswer(outcome, deps);
      const reason = fallbackReason(outcome.turn.before());
      return { kind: 'answered', answer: outcome, walk, reason };
    }
    walk.failed(outcome.turn, outcome.failure);
  }
  walk.close();
  return { kind: 'cancelled' };
}

function noteAnswer({ call }: CallAnswer, { warmup, localUsed }: RouterDeps): void {
  const { upstream, provider, request, model } = call;
  if (upstream === 'local' && provider === null && !request.endpoint.keepsModel) localUsed(model);
  if (upstream !== 'local' && upstream !== 'ondemand') warmup.hostedAnswered();
}

/** The engine decides the best form of the request and the extra parameters. */
function localIdentified(
  { call: { request }, config }: RoutedRequest,
  { circuits, identifyLocal }: RouterDeps,
): Promise<void> | null {
  const mayTranslate =
    request.endpoint.support === 'translatable' && config.local.protocols !== 'native';
  return mayTranslate ? identifyLocal(circuits.at('local').breaker.health.lastFailAt) : null;
}

/**
 * No warm-up where `local` is not configured or is paused by its owner: every request would keep a GPU
 * running that is paid for.
 */
function warmUpAfter(
  outcomes: readonly UpstreamOutcome[],
  walk: Walk,
  { config, remotes }: RoutedRequest,
  { warmup }: RouterDeps,
): void {
  const upstream = remotes.find(({ id }) => id === 'ondemand');
  if (upstream === undefined || !config.ondemand.warmup) return;
  const reasons = outcomes.map(reasonOf);
  const isSetUp = !reasons.includes('not_configured') && !reasons.includes('paused');
  if (isSetUp && walk.suits('ondemand')) warmup.startFromRouting(upstream);
}

type Hedge = Config['routing']['hedge'];

/** Own machines must not read a longer prompt twice, as it takes long because it is long. */
const MAX_OWN_BYTES = 8 * 1024;

/**
 * Whether `to` may be called while `from` is slow. Only `all` lets a prompt go to a hosted upstream, and
 * cost money, because `local` was slow; where `local` comes after a hosted one, it may always help.
 */
function mayHedgeTo(hedge: Hedge, from: UpstreamCall, to: UpstreamId): boolean {
  if (hedge === 'off') return false;
  const isOwn = from.upstream === 'local' || to === 'local';
  if (isOwn && from.request.bytes.length > MAX_OWN_BYTES) return false;
  return hedge === 'all' || from.upstream !== 'local' || to === 'local';
}

/**
 * Calls an upstream and, if no content has come by the hedge delay, the next one whose circuit is closed
 * beside it. The first content wins and the other call is aborted at once; never more than two run. Failures but the
 * last are told to the walk here.
 */
function callOrHedge(
  first: Turn,
  walk: Walk,
  request: RoutedRequest,
  deps: RouterDeps,
): Promise<CallOutcome> {
  const { clock, budget } = deps;
  const { signal } = request;
  const { hedge } = request.config.routing;
  const { ttftThresholdMs } = request.config.circuit;
  const { promise, resolve, reject } = Promise.withResolvers<CallOutcome>();
  /** The running calls: at most two, and none once the result is out. */
  const running = new Map<Turn, Cancellation>();
  let cancelTimer = () => {};

  function start(turn: Turn): void {
    const cancellation = new Cancellation();
    running.set(turn, cancellation);
    armTimer();
    if (signal.aborted) cancellation.abort();
    const options = {
      walk,
      signal: cancellation,
      onContent() {
        if (running.has(turn)) keepOnly(turn);
      },
    };
    callUpstream(turn, request, deps, options)
      .then((outcome) => ended(turn, outcome))
      .catch(reject);
  }

  /** Runs only while there is one call: two are the limit. */
  function armTimer(): void {
    cancelTimer();
    const [only, second] = running.keys();
    if (only === undefined || second !== undefined) return;
    const { call, at } = only;
    // An answer that comes as a whole has no first token that could be late.
    if (call.mode === 'whole' || !walk.hasAhead((to) => mayHedgeTo(hedge, call, to))) return;
    const dueMs = at + ttftThresholdMs - clock.ticks();
    cancelTimer = clock.after(Math.max(0, dueMs), () => startHedge(call));
  }

  function startHedge(slow: UpstreamCall): void {
    if (!budget.allows()) return;
    const turn = walk.next((call) => mayHedgeTo(hedge, slow, call.upstream), 'hedge');
    if (turn === null) return;
    budget.spend();
    start(turn);
  }

  function ended(turn: Turn, outcome: CallOutcome): void {
    if (!running.has(turn)) {
      // Its content came in the same turn as the winner's: the stream has no reader.
      if (outcome.kind === 'answered' && outcome.seen.kind !== 'answer')
        outcome.seen.exchange.abort();
      return;
    }
    if (outcome.kind === 'answered') keepOnly(turn);
    if (outcome.kind === 'failed') {
      // Without hedging the first call's refusal would be the answer, so no other upstream's answer may win.
      const [earliest] = running.keys();
      if (outcome.failure.fallBack === 'never' && turn === earliest) keepOnly(turn);
      running.delete(turn);
      if (running.size > 0) {
        walk.failed(turn, outcome.failure);
        armTimer();
        return;
      }
    }
    running.clear();
    cancelTimer();
    signal.removeEventListener('abort', abortAll);
    resolve(outcome);
  }

  /** Starts no further call from here on, even if the answer of this one fails. */
  function keepOnly(winner: Turn): void {
    cancelTimer();
    for (const [turn, cancellation] of running) {
      if (turn === winner) continue;
      running.delete(turn);
      walk.outrun(turn);
      cancellation.abort();
    }
  }

  function abortAll(): void {
    for (const cancellation of running.values()) cancellation.abort();
  }

  signal.addEventListener('abort', abortAll);
  start(first);
  return promise;
}

/** Hedges per request in the long run; at first as many as it takes for the circuit of an upstream that hangs to open. */
const [SHARE, FIRST, MOST] = [0.05, 3, 10];

/** Keeps hedges from doubling the load of upstreams that are all slow; saves up to `MOST`. */
export function createHedgeBudget() {
  let left = FIRST;
  return {
    requested: () => void (left = Math.min(left + SHARE, MOST)),
    allows: () => left >= 1,
    spend: () => void (left -= 1),
  };
}
