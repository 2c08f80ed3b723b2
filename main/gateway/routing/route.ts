import { servesModel } from '../upstream/upstreams.ts';
import type { CallAnswer } from './call-upstream.ts';
import { type CandidateDeps, keepsModel, type RoutedRequest } from './candidates.ts';
import { callOrHedge, type HedgeDeps } from './hedge.ts';
import { fallbackReason, reasonOf, type UpstreamOutcome } from './outcomes.ts';
import { Walk } from './walk.ts';

export interface RouterDeps extends HedgeDeps, CandidateDeps {
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
  /** `outcomes`: in routing order. */
  | { readonly kind: 'unanswered'; readonly outcomes: readonly UpstreamOutcome[] }
  | { readonly kind: 'cancelled' };

/**
 * Tries the upstreams in routing order until one answers (docs/reference/routing-rules.md). As soon as `local` is lost the
 * on-demand upstream is warmed up, without waiting for it.
 */
export async function route(request: RoutedRequest, deps: RouterDeps): Promise<RouteResult> {
  await localIdentified(request, deps);
  deps.budget.requested();
  const walk = new Walk(request, deps, (outcomes) => warmUpAfter(outcomes, request, deps));
  while (!request.signal.aborted) {
    // With nobody left, the excluded upstream that is back soonest is called all the same.
    const turn = walk.next() ?? walk.force();
    if (turn === null) return { kind: 'unanswered', outcomes: walk.outcomes(null) };
    const outcome = await callOrHedge(turn, walk, request, deps);
    if (outcome.kind === 'cancelled') break;
    if (outcome.kind === 'answered') {
      walk.answered(outcome.turn);
      noteAnswer(outcome, deps);
      const reason = fallbackReason(walk.outcomes(outcome.turn), 'answer');
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
  request: RoutedRequest,
  { warmup, budgets }: RouterDeps,
): void {
  const { call, config, remotes } = request;
  const upstream = remotes.find(({ id }) => id === 'ondemand');
  if (upstream === undefined || !config.ondemand.warmup) return;
  const reasons = outcomes.map(reasonOf);
  const isSetUp = !reasons.includes('not_configured') && !reasons.includes('paused');
  const mayCost = !call.zeroSpend && !budgets.isSpent('ondemand', config);
  if (!isSetUp || !mayCost) return;
  if (keepsModel(call, config) && !servesModel(upstream, call.request.model)) return;
  warmup.startFromRouting(upstream);
}
