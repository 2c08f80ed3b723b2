import {
  type Dispatch,
  FallbackPlan,
  type FallbackPlanDeps,
  type RoutedRequest,
} from './fallback-plan.ts';
import type { UpstreamOutcome } from './fallback-reasons.ts';
import type { RequestObserver } from './observer.ts';
import { type HedgeDeps, type HedgeResult, canHedge, runHedged } from './hedging.ts';
import { type AttemptOutcome, callUpstream, type AttemptContext } from './retry.ts';

/** What the router needs of the world. */
export type RouterDeps = HedgeDeps & Omit<FallbackPlanDeps, 'localLost'>;

/** One chat completion under way: fixed at its start, so that a settings change meets the next one. */
export type RequestContext = AttemptContext &
  RoutedRequest & { readonly observer: RequestObserver };

type Answered = Extract<AttemptOutcome, { readonly kind: 'answered' }>;
type Cancelled = Extract<AttemptOutcome, { readonly kind: 'cancelled' }>;

/** How the walk over the upstreams ended; `trail` has those that were left, in routing order. */
export type RouteResult =
  | (Answered & {
      readonly dispatch: Dispatch;
      readonly outcomes: readonly UpstreamOutcome[];
      /** Who is still ahead, should the answer break off. */
      readonly plan: FallbackPlan;
    })
  | { readonly kind: 'unanswered'; readonly outcomes: readonly UpstreamOutcome[] }
  | Cancelled;

/**
 * Tries `local`, `hosted_a`, `hosted_b`, `hosted_c`, `ondemand` in order until one answers (docs/routing.md).
 * As soon as `local` is lost the on-demand upstream is warmed up, without waiting for it.
 */
export async function route(context: RequestContext, deps: RouterDeps): Promise<RouteResult> {
  const localLost = (outcomes: readonly UpstreamOutcome[]) => warmUpAfter(outcomes, context, deps);
  const plan = new FallbackPlan(context, { ...deps, localLost });
  for (let dispatch = plan.next(); dispatch !== null; dispatch = plan.next()) {
    const outcome = await ask(dispatch, plan, context, deps);
    if (outcome.kind === 'answered') return routeAnswered(outcome, plan, deps);
    if (outcome.kind === 'cancelled') {
      plan.close(null);
      return outcome;
    }
  }
  plan.close(null);
  return forceSoonest(plan, context, deps);
}

async function ask(
  dispatch: Dispatch,
  plan: FallbackPlan,
  context: RequestContext,
  deps: RouterDeps,
): Promise<HedgeResult> {
  if (canHedge(dispatch, plan, context)) return runHedged(dispatch, plan, context, deps);
  const outcome = await callUpstream(dispatch.admitted, context, deps);
  if (outcome.kind === 'failed') plan.failed(dispatch, outcome.failure);
  return outcome.kind === 'answered' ? { ...outcome, dispatch } : outcome;
}

function routeAnswered(
  answered: Answered & { readonly dispatch: Dispatch },
  plan: FallbackPlan,
  { warmup }: RouterDeps,
): RouteResult {
  const { dispatch } = answered;
  const { upstream } = dispatch.candidate;
  plan.close(dispatch);
  if (upstream !== 'local' && upstream !== 'ondemand') warmup.hostedAnswered();
  return { ...answered, plan, outcomes: plan.outcomes(dispatch) };
}

/** When nobody who is well could serve, the one that comes back first is asked all the same. */
async function forceSoonest(
  plan: FallbackPlan,
  context: RequestContext,
  deps: RouterDeps,
): Promise<RouteResult> {
  const outcomes = plan.outcomes(null);
  const dispatch = plan.soonest();
  if (dispatch === null) return { kind: 'unanswered', outcomes };
  const { candidate, admitted } = dispatch;
  const outcome = await callUpstream(admitted, context, deps);
  if (outcome.kind === 'answered')
    return { ...outcome, dispatch, plan, outcomes: withTried(outcomes, candidate, []) };
  if (outcome.kind === 'failed') candidate.failed(admitted, outcome.failure);
  candidate.close();
  if (outcome.kind === 'cancelled') return outcome;
  return { kind: 'unanswered', outcomes: withTried(outcomes, candidate, candidate.outcomes(null)) };
}

/** The trail with what became of an upstream, in the place where it was said to be out, or else after what it had tried. */
function withTried(
  outcomes: readonly UpstreamOutcome[],
  { upstream }: Dispatch['candidate'],
  became: readonly UpstreamOutcome[],
): readonly UpstreamOutcome[] {
  const at = outcomes.findLastIndex((left) => left.upstream === upstream);
  const isReplaced = outcomes[at]?.kind === 'skipped';
  return [...outcomes.slice(0, isReplaced ? at : at + 1), ...became, ...outcomes.slice(at + 1)];
}

/** No warm-up where `local` is not configured or paused by its owner: every request would keep a paid GPU warm. */
function warmUpAfter(
  outcomes: readonly UpstreamOutcome[],
  { call, config, remotes }: RequestContext,
  { warmup }: RouterDeps,
): void {
  const isSetUp = !outcomes.some(
    (each) =>
      each.kind === 'skipped' && (each.reason === 'not_configured' || each.reason === 'paused'),
  );
  const upstream = remotes.find(({ id }) => id === 'ondemand');
  if (upstream === undefined || !isSetUp || !config.ondemand.warmup || call.zeroSpend) return;
  warmup.startFromRouting(upstream);
}
