import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { askUpstream, type AskDeps, type Asked, type Errand } from './asking.ts';
import {
  localCall,
  remoteCall,
  type ChatCall,
  type LocalChoice,
  type UpstreamCall,
} from './request/calls.ts';
import { soonestFirst, type Left, type Skipped } from './outcome/trail.ts';
import type { RemoteUpstream } from './request/upstreams.ts';

/** What the router needs of the world. */
export interface RouterDeps extends AskDeps {
  readonly pickLocal: () => LocalChoice;
}

/** One chat completion under way: fixed at its start, so that a settings change meets the next one. */
export interface Journey extends Errand {
  readonly call: ChatCall;
  readonly remotes: readonly RemoteUpstream[];
}

type Answered = Extract<Asked, { readonly kind: 'answered' }>;
type Cancelled = Extract<Asked, { readonly kind: 'cancelled' }>;

/** How the walk over the upstreams ended; `trail` has those that were left, in routing order. */
export type Routed =
  | (Answered & { readonly trail: readonly Left[] })
  | { readonly kind: 'unanswered'; readonly trail: readonly Left[] }
  | Cancelled;

/**
 * Walks `local`, `hosted_a`, `hosted_b`, `hosted_c`, `ondemand` until one answers (interface 1).
 * As soon as `local` is lost the on-demand upstream is warmed up, without waiting for it.
 */
export async function route(journey: Journey, deps: RouterDeps): Promise<Routed> {
  const trail: Left[] = [];
  for (const id of UPSTREAM_IDS) {
    const step = await visit(id, journey, deps);
    if (step.kind === 'cancelled') return step;
    if (step.kind === 'answered') {
      if (id !== 'local' && id !== 'ondemand') deps.warmup.hostedAnswered();
      return { ...step, trail };
    }
    trail.push(step);
    if (step.kind === 'failed' && !step.failure.fallBack) break;
    if (id === 'local') warmUpAfter(step, journey, deps);
  }
  return askSoonest(trail, journey, deps);
}

/** When all that are left are out for a while, the one that comes back first is asked all the same. */
async function askSoonest(
  trail: readonly Left[],
  journey: Journey,
  deps: RouterDeps,
): Promise<Routed> {
  for (const skipped of soonestFirst(trail)) {
    const { upstream } = skipped;
    const ready = prepare(upstream, journey, deps);
    if ('skip' in ready) continue;
    const entry = deps.circuits.enterAnyway(upstream, ready, journey.epoch);
    // Its probe is out already, for another request.
    if (entry.kind === 'out') continue;
    const asked = await askUpstream(ready, entry.ticket, journey, deps);
    if (asked.kind === 'cancelled') return asked;
    if (asked.kind === 'answered') {
      return { ...asked, trail: trail.filter((left) => left !== skipped) };
    }
    const failed: Left = { ...asked, upstream };
    return { kind: 'unanswered', trail: trail.map((left) => (left === skipped ? failed : left)) };
  }
  return { kind: 'unanswered', trail };
}

async function visit(
  id: UpstreamId,
  journey: Journey,
  deps: RouterDeps,
): Promise<Answered | Cancelled | Left> {
  const ready = prepare(id, journey, deps);
  if ('skip' in ready) return { kind: 'skipped', upstream: id, reason: ready.skip, waitMs: null };
  const entry = deps.circuits.enter(id, ready, journey.epoch);
  if (entry.kind === 'out') {
    return { kind: 'skipped', upstream: id, reason: entry.reason, waitMs: entry.waitMs };
  }
  const asked = await askUpstream(ready, entry.ticket, journey, deps);
  return asked.kind === 'failed' ? { ...asked, upstream: id } : asked;
}

/** The call made ready, or why there is none to be made. */
function prepare(
  id: UpstreamId,
  { call, config, remotes }: Journey,
  { pickLocal }: RouterDeps,
): UpstreamCall | { readonly skip: Skipped['reason'] } {
  if (id === 'local') {
    const choice = pickLocal();
    return choice.kind === 'none'
      ? { skip: choice.reason }
      : localCall(call, choice.target, config);
  }
  const upstream = remotes.find((remote) => remote.id === id);
  if (upstream === undefined) return { skip: 'not_configured' };
  return call.zeroSpend ? { skip: 'zero_spend' } : remoteCall(call, upstream);
}

/** A set-up without `local` must not keep a paid GPU warm (design 6). */
function warmUpAfter(step: Left, { call, config, remotes }: Journey, { warmup }: RouterDeps): void {
  const localIsSetUp = !(step.kind === 'skipped' && step.reason === 'not_configured');
  const upstream = remotes.find(({ id }) => id === 'ondemand');
  if (upstream === undefined || !localIsSetUp || !config.ondemand.warmup || call.zeroSpend) return;
  warmup.startFromRouting(upstream);
}
