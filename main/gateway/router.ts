import { askUpstream, type Asked, type Errand } from './asking.ts';
import { mayBeHedged, runHeat, type HeatDeps, type HeatEnd } from './hedge/heat.ts';
import type { Left } from './outcome/trail.ts';
import { Walk, type Step, type WalkDeps, type Walker } from './walk/walk.ts';

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

/** When nobody who is well could serve, the one that comes back first is asked all the same. */
async function askSoonest(walk: Walk, journey: Journey, deps: RouterDeps): Promise<Routed> {
  const trail = walk.left(null);
  const step = walk.soonest();
  if (step === null) return { kind: 'unanswered', trail };
  const { stop, leg } = step;
  const asked = await askUpstream(leg, journey, deps);
  if (asked.kind === 'answered') return { ...asked, step, walk, trail: withTried(trail, stop, []) };
  if (asked.kind === 'failed') stop.failed(leg, asked.failure);
  stop.close();
  if (asked.kind === 'cancelled') return asked;
  return { kind: 'unanswered', trail: withTried(trail, stop, stop.left(null)) };
}

/** The trail with what became of an upstream, in the place where it was said to be out, or else after what it had tried. */
function withTried(
  trail: readonly Left[],
  { upstream }: Step['stop'],
  became: readonly Left[],
): readonly Left[] {
  const at = trail.findLastIndex((left) => left.upstream === upstream);
  const isReplaced = trail[at]?.kind === 'skipped';
  return [...trail.slice(0, isReplaced ? at : at + 1), ...became, ...trail.slice(at + 1)];
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
