import { sleep } from '../../platform/clock.ts';
import type { Dispatch } from './candidate.ts';
import { FallbackPlan, type FallbackPlanDeps, type RoutedRequest } from './fallback-plan.ts';
import type { UpstreamOutcome } from './fallback-reasons.ts';
import { servesModel } from '../upstream/upstreams.ts';
import { keepsModel } from './suitability.ts';
import { canHedge } from './hedge-policy.ts';
import { type DispatchResult, type HedgeDeps, runHedged } from './hedging.ts';
import type { RequestObserver } from './observer.ts';
import { type AnsweredCall, type AttemptContext, callUpstream, type Patience } from './retry.ts';

export type RouterDeps = HedgeDeps &
  Omit<FallbackPlanDeps, 'localLost'> & {
    /** Ends once the fixed engine is known; null if it has been since its last failure, or there is none. */
    readonly identifyLocal: (failedAt: number | null) => Promise<void> | null;
  };

/** One chat completion: fixed at its start, so that a change of settings affects only later ones. */
export type RequestContext = AttemptContext &
  RoutedRequest & { readonly observer: RequestObserver };

/** `outcomes` has the upstreams that did not give the answer, in routing order. */
export type RouteResult =
  | (AnsweredCall & {
      readonly dispatch: Dispatch;
      readonly outcomes: readonly UpstreamOutcome[];
      /** The candidates that are left, should the answer break off. */
      readonly plan: FallbackPlan;
    })
  | { readonly kind: 'unanswered'; readonly outcomes: readonly UpstreamOutcome[] }
  | { readonly kind: 'cancelled' };

/**
 * Tries the upstreams in routing order until one answers (docs/routing.md). As soon as `local` is lost the
 * on-demand upstream is warmed up, without waiting for it.
 */
export async function route(context: RequestContext, deps: RouterDeps): Promise<RouteResult> {
  const identified = localIdentified(context, deps);
  if (identified !== null) await identified;
  const localLost = (outcomes: readonly UpstreamOutcome[]) => warmUpAfter(outcomes, context, deps);
  const plan = new FallbackPlan(context, { ...deps, localLost });
  let dispatch = plan.next() ?? (await returnToLocal('at_last', plan, context, deps));
  while (dispatch !== null) {
    const result = await runDispatch(dispatch, plan, context, deps);
    if (result.kind === 'answered') return routeAnswered(result, plan, deps);
    if (result.kind === 'cancelled') break;
    dispatch = await dispatchAfterFailure(plan, context, deps);
  }
  plan.close(null);
  return context.signal.aborted ? { kind: 'cancelled' } : routeForced(plan, context, deps);
}

/** Which form of the request is best, and what it asks for beside, depends on what engine it is. */
function localIdentified(
  { call: { request }, config }: RequestContext,
  { circuits, identifyLocal }: RouterDeps,
): Promise<void> | null {
  const mayTranslate =
    request.endpoint.support === 'translatable' && config.local.protocols !== 'native';
  return mayTranslate ? identifyLocal(circuits.at('local').breaker.health.lastFailAt) : null;
}

async function dispatchAfterFailure(
  plan: FallbackPlan,
  context: RequestContext,
  deps: RouterDeps,
): Promise<Dispatch | null> {
  const returned = await returnToLocal('before_others', plan, context, deps);
  if (returned !== null || context.signal.aborted) return returned;
  return plan.next() ?? returnToLocal('at_last', plan, context, deps);
}

/** The call after a short wait that `local` asked for; null if there is nothing to wait for, or the caller has left. */
async function returnToLocal(
  when: Parameters<FallbackPlan['returnInMs']>[0],
  plan: FallbackPlan,
  { signal }: RequestContext,
  { clock }: RouterDeps,
): Promise<Dispatch | null> {
  const waitMs = plan.returnInMs(when);
  if (waitMs === null || !(await sleep(clock, waitMs, signal))) return null;
  return plan.returnToLocal(waitMs);
}

async function runDispatch(
  dispatch: Dispatch,
  plan: FallbackPlan,
  context: RequestContext,
  deps: RouterDeps,
): Promise<DispatchResult> {
  const ahead = plan.ahead();
  if (canHedge(dispatch.admitted.call, ahead, context.config))
    return runHedged(dispatch, plan, context, deps);
  const patience = ahead.length > 0 ? patienceFor(dispatch, context) : 'whole_timeout';
  const outcome = await callUpstream(dispatch.admitted, context, deps, patience);
  if (outcome.kind === 'failed') plan.failed(dispatch, outcome.failure);
  return outcome.kind === 'answered' ? { ...outcome, dispatch } : outcome;
}

/** Where no hedged call may go out, to give up a hung engine and call the next upstream is better than to wait. */
function patienceFor({ admitted: { call } }: Dispatch, { config }: RequestContext): Patience {
  const isOwn = call.upstream === 'local' && call.isAlone && config.routing.hedge !== 'all';
  return isOwn ? 'until_hung' : 'whole_timeout';
}

function routeAnswered(
  answered: AnsweredCall & { readonly dispatch: Dispatch },
  plan: FallbackPlan,
  { warmup }: RouterDeps,
): RouteResult {
  const { dispatch } = answered;
  const { upstream } = dispatch.candidate;
  plan.close(dispatch);
  const outcomes = plan.outcomes(dispatch);
  if (upstream !== 'local' && upstream !== 'ondemand') warmup.hostedAnswered();
  return { ...answered, plan, outcomes };
}

/** With no candidate left, the excluded upstream that comes back soonest is called all the same. */
async function routeForced(
  plan: FallbackPlan,
  context: RequestContext,
  deps: RouterDeps,
): Promise<RouteResult> {
  const outcomes = plan.outcomes(null);
  const dispatch = plan.forceSoonest();
  if (dispatch === null) return { kind: 'unanswered', outcomes };
  const { candidate, admitted } = dispatch;
  const outcome = await callUpstream(admitted, context, deps);
  if (outcome.kind === 'answered')
    return { ...outcome, dispatch, plan, outcomes: withForced(outcomes, candidate, []) };
  if (outcome.kind === 'failed') candidate.failed(admitted, outcome.failure);
  candidate.close();
  if (outcome.kind === 'cancelled') return outcome;
  const forced = candidate.outcomes(null);
  return { kind: 'unanswered', outcomes: withForced(outcomes, candidate, forced) };
}

/** `forced` in place of the upstream's exclusion, or after the outcomes of the machines called before. */
function withForced(
  outcomes: readonly UpstreamOutcome[],
  { upstream }: Dispatch['candidate'],
  forced: readonly UpstreamOutcome[],
): readonly UpstreamOutcome[] {
  const at = outcomes.findLastIndex((outcome) => outcome.upstream === upstream);
  const isReplaced = outcomes[at]?.kind === 'skipped';
  return [...outcomes.slice(0, isReplaced ? at : at + 1), ...forced, ...outcomes.slice(at + 1)];
}

/**
 * No warm-up where `local` is not configured or is paused by its owner: every request would keep a GPU
 * running that is paid for.
 */
function warmUpAfter(
  outcomes: readonly UpstreamOutcome[],
  { call, config, remotes }: RequestContext,
  { warmup, budgets }: RouterDeps,
): void {
  const isSetUp = !outcomes.some(
    (each) =>
      each.kind === 'skipped' && (each.reason === 'not_configured' || each.reason === 'paused'),
  );
  const upstream = remotes.find(({ id }) => id === 'ondemand');
  const mayCost = !call.zeroSpend && !budgets.isSpent('ondemand', config);
  if (upstream === undefined || !isSetUp || !config.ondemand.warmup || !mayCost) return;
  const { request } = call;
  if (keepsModel({ request, config }) && !servesModel(upstream, request.model)) return;
  warmup.startFromRouting(upstream);
}
