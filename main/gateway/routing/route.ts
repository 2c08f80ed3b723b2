import { sleep } from '../../platform/clock.ts';
import { servesModel } from '../upstream/upstreams.ts';
import { type AnsweredCall, callUpstream } from './call-upstream.ts';
import { keepsModel, type RoutedRequest } from './candidates.ts';
import { canHedge, type HedgeDeps, race } from './hedging.ts';
import type { UpstreamOutcome } from './outcomes.ts';
import { type Turn, Walk, type WalkDeps } from './walk.ts';

export interface RouterDeps extends HedgeDeps, WalkDeps {
  /** Ends once the fixed engine is known; null if it has been since its last failure, or there is none. */
  readonly identifyLocal: (failedAt: number | null) => Promise<void> | null;
  /** A model of the fixed engine has answered. */
  readonly localUsed: (model: string) => void;
}

/** `outcomes` has the upstreams that did not give the answer, in routing order. */
export type RouteResult =
  | {
      readonly kind: 'answered';
      readonly answer: AnsweredCall;
      /** The calls that are left, should the answer break off. */
      readonly walk: Walk;
      readonly outcomes: readonly UpstreamOutcome[];
    }
  | { readonly kind: 'unanswered'; readonly outcomes: readonly UpstreamOutcome[] }
  | { readonly kind: 'cancelled' };

/**
 * Tries the upstreams in routing order until one answers (docs/reference/routing-rules.md). As soon as `local` is lost the
 * on-demand upstream is warmed up, without waiting for it.
 */
export async function route(request: RoutedRequest, deps: RouterDeps): Promise<RouteResult> {
  const identified = localIdentified(request, deps);
  if (identified !== null) await identified;
  deps.budget.requested();
  const walk = new Walk(request, deps, (outcomes) => warmUpAfter(outcomes, request, deps));
  let turn = walk.next() ?? (await returnToLocal('at_last', walk, request, deps));
  while (!request.signal.aborted) {
    turn ??= lastResort(walk);
    if (turn === null) return { kind: 'unanswered', outcomes: walk.outcomes(null) };
    const outcome = await (canHedge(turn.call, walk.ahead(), request.config.routing.hedge)
      ? race(turn, walk, request, deps)
      : callUpstream(turn, request, deps));
    if (outcome.kind === 'answered') return answered(outcome, walk, deps);
    if (outcome.kind === 'cancelled') break;
    walk.failed(outcome.turn, outcome.failure);
    turn = await nextTurn(walk, request, deps);
  }
  walk.close(null);
  return { kind: 'cancelled' };
}

/** With nobody left, the excluded upstream that comes back soonest is called all the same. */
function lastResort(walk: Walk): Turn | null {
  walk.close(null);
  return walk.forceSoonest();
}

async function nextTurn(
  walk: Walk,
  request: RoutedRequest,
  deps: RouterDeps,
): Promise<Turn | null> {
  const returned = await returnToLocal('before_others', walk, request, deps);
  if (returned !== null || request.signal.aborted) return returned;
  return walk.next() ?? returnToLocal('at_last', walk, request, deps);
}

/** The call after a short wait that `local` asked for; null if there is nothing to wait for, or the caller has left. */
async function returnToLocal(
  when: Parameters<Walk['returnInMs']>[0],
  walk: Walk,
  { signal }: RoutedRequest,
  { clock }: RouterDeps,
): Promise<Turn | null> {
  const waitMs = walk.returnInMs(when);
  if (waitMs === null || !(await sleep(clock, waitMs, signal))) return null;
  return walk.returnToLocal(waitMs);
}

function answered(
  answer: AnsweredCall,
  walk: Walk,
  { warmup, localUsed }: RouterDeps,
): RouteResult {
  const { upstream, provider, endpoint, model } = answer.call;
  if (upstream === 'local' && provider === null && !endpoint.keepsModel) localUsed(model);
  walk.close(answer.turn);
  if (upstream !== 'local' && upstream !== 'ondemand') warmup.hostedAnswered();
  return { kind: 'answered', answer, walk, outcomes: walk.outcomes(answer.turn) };
}

/** Which form of the request is best, and what it asks for beside, depends on what engine it is. */
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
  request: RoutedRequest,
  { warmup, budgets }: RouterDeps,
): void {
  const { call, config, remotes } = request;
  const isSetUp = !outcomes.some(
    (each) =>
      each.kind === 'skipped' && (each.reason === 'not_configured' || each.reason === 'paused'),
  );
  const upstream = remotes.find(({ id }) => id === 'ondemand');
  const mayCost = !call.zeroSpend && !budgets.isSpent('ondemand', config);
  if (upstream === undefined || !isSetUp || !config.ondemand.warmup || !mayCost) return;
  if (keepsModel(request) && !servesModel(upstream, call.request.model)) return;
  warmup.startFromRouting(upstream);
}
