import { type Step, Walk, type WalkDeps, type Walker } from './fallback-plan.ts';
import { type Left, soonestFirst } from './fallback-reasons.ts';
import { type HeatDeps, type HeatEnd, mayBeHedged, runHeat } from './hedging.ts';
import { type Asked, askUpstream, type Errand } from './retry.ts';

/** What the router needs of the world. */
export type RouterDeps = HeatDeps & Omit<WalkDeps, 'localLost'>;

/** One chat completion under way: fixed at its start, so that a settings change meets the next one. */
export type Journey = Errand & Walker;

type Answered = Extract<Asked, { readonly kind: 'answered' }>;
type Cancelled = Extract<Asked, { readonly kind: 'cancelled' }>;

/** How the walk over the upstreams ended; `trail` has those that were left, in routing order. */
export type Routed =
  | (Answered & {
      readonly step: Step;
      readonly trail: readonly Left[];
      /** Who is still ahead, should the answer break off. */
      readonly walk: Walk;
    })
  | { readonly kind: 'unanswered'; readonly trail: readonly Left[] }
  | Cancelled;

/**
 * Walks `local`, `hosted_a`, `hosted_b`, `hosted_c`, `ondemand` until one answers (interface 1).
 * As soon as `local` is lost the on-demand upstream is warmed up, without waiting for it.
 */
export async function route(journey: Journey, deps: RouterDeps): Promise<Routed> {
  const localLost = (left: readonly Left[]) => warmUpAfter(left, journey, deps);
  const walk = new Walk(journey, { ...deps, localLost });
  for (let step = walk.next(); step !== null; step = walk.next()) {
    const asked = await ask(step, walk, journey, deps);
    if (asked.kind === 'answered') return arrived(asked, walk, deps);
    if (asked.kind === 'cancelled') {
      walk.close(null);
      return asked;
    }
  }
  walk.close(null);
  return askSoonest(walk, journey, deps);
}

async function ask(step: Step, walk: Walk, journey: Journey, deps: RouterDeps): Promise<HeatEnd> {
  if (mayBeHedged(step, walk, journey)) return runHeat(step, walk, journey, deps);
  const asked = await askUpstream(step.leg, journey, deps);
  if (asked.kind === 'failed') walk.failed(step, asked.failure);
  return asked.kind === 'answered' ? { ...asked, step } : asked;
}

function arrived(
  answered: Answered & { readonly step: Step },
  walk: Walk,
  { warmup }: RouterDeps,
): Routed {
  const { step } = answered;
  const { upstream } = step.stop;
  walk.close(step);
  if (upstream !== 'local' && upstream !== 'ondemand') warmup.hostedAnswered();
  return { ...answered, walk, trail: walk.left(step) };
}

/** When all that are left are out for a while, the one that comes back first is asked all the same. */
async function askSoonest(walk: Walk, journey: Journey, deps: RouterDeps): Promise<Routed> {
  const trail = walk.left(null);
  for (const skipped of soonestFirst(trail)) {
    const step = walk.anyway(skipped.upstream);
    // Its probe is out already, for another request.
    if (step === null) continue;
    const asked = await askUpstream(step.leg, journey, deps);
    if (asked.kind === 'answered') {
      return { ...asked, step, walk, trail: trail.filter((left) => left !== skipped) };
    }
    if (asked.kind === 'failed') step.stop.failed(step.leg, asked.failure);
    step.stop.close();
    if (asked.kind === 'cancelled') return asked;
    const left = trail.flatMap((each) => (each === skipped ? step.stop.left(null) : [each]));
    return { kind: 'unanswered', trail: left };
  }
  return { kind: 'unanswered', trail };
}

/** A set-up without `local`, or whose owner has paused it, must not keep a paid GPU warm (design 6). */
function warmUpAfter(
  left: readonly Left[],
  { call, config, remotes }: Journey,
  { warmup }: RouterDeps,
): void {
  const isSetUp = !left.some(
    (each) =>
      each.kind === 'skipped' && (each.reason === 'not_configured' || each.reason === 'paused'),
  );
  const upstream = remotes.find(({ id }) => id === 'ondemand');
  if (upstream === undefined || !isSetUp || !config.ondemand.warmup || call.zeroSpend) return;
  warmup.startFromRouting(upstream);
}
