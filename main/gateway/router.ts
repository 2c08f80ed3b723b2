import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { askUpstream, type Asked, type Errand } from './asking.ts';
import { askTier, type Door, type TierDeps } from './local/tier.ts';
import {
  localCall,
  remoteCall,
  type ChatCall,
  type LocalChoice,
  type UpstreamCall,
} from './request/calls.ts';
import { soonestFirst, type Left, type Skipped } from './outcome/trail.ts';
import type { LocalTarget, RemoteUpstream } from './request/upstreams.ts';

/** What the router needs of the world. */
export interface RouterDeps extends TierDeps {
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
    const visited = await visit(id, 'enter', journey, deps);
    if (visited.kind === 'cancelled') return visited;
    trail.push(...visited.left);
    if (visited.kind === 'answered') {
      if (id !== 'local' && id !== 'ondemand') deps.warmup.hostedAnswered();
      return { ...visited, trail };
    }
    const last = visited.left.at(-1);
    if (last?.kind === 'failed' && !last.failure.fallBack) break;
    if (id === 'local') warmUpAfter(visited.left, journey, deps);
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
    const visited = await visit(skipped.upstream, 'enterAnyway', journey, deps);
    if (visited.kind === 'cancelled') return visited;
    if (visited.kind === 'answered') {
      return { ...visited, trail: trail.filter((left) => left !== skipped) };
    }
    // Its probe is out already, for another request.
    if (visited.left.every(({ kind }) => kind === 'skipped')) continue;
    const left = trail.flatMap((each) => (each === skipped ? visited.left : [each]));
    return { kind: 'unanswered', trail: left };
  }
  return { kind: 'unanswered', trail };
}

type Visited =
  | (Answered & { readonly left: readonly Left[] })
  | { readonly kind: 'left'; readonly left: readonly Left[] }
  | Cancelled;

async function visit(
  id: UpstreamId,
  door: Door,
  journey: Journey,
  deps: RouterDeps,
): Promise<Visited> {
  const way = wayTo(id, journey, deps);
  switch (way.kind) {
    case 'none':
      return skippedFor(id, way.reason, null);
    case 'tier':
      return askTier(way.targets, door, journey, deps);
    case 'call': {
      const entry = deps.circuits[door](id, way.call, journey.epoch);
      if (entry.kind === 'out') return skippedFor(id, entry.reason, entry.waitMs);
      const pass = { own: { id, ticket: entry.ticket }, tier: null };
      const asked = await askUpstream(way.call, pass, journey, deps);
      if (asked.kind === 'cancelled') return asked;
      return asked.kind === 'answered'
        ? { ...asked, left: [] }
        : { kind: 'left', left: [{ ...asked, upstream: id, provider: null }] };
    }
  }
}

function skippedFor(
  upstream: UpstreamId,
  reason: Skipped['reason'],
  waitMs: number | null,
): Visited {
  return { kind: 'left', left: [{ kind: 'skipped', upstream, reason, waitMs }] };
}

type Way =
  | { readonly kind: 'call'; readonly call: UpstreamCall }
  | { readonly kind: 'tier'; readonly targets: readonly LocalTarget[] }
  | { readonly kind: 'none'; readonly reason: Skipped['reason'] };

/** How an upstream would be asked, or why there is none to be asked. */
function wayTo(id: UpstreamId, { call, config, remotes }: Journey, { pickLocal }: RouterDeps): Way {
  if (id === 'local') {
    const choice = pickLocal();
    return choice.kind === 'target'
      ? { kind: 'call', call: localCall(call, choice.target, config, 1) }
      : choice;
  }
  const upstream = remotes.find((remote) => remote.id === id);
  if (upstream === undefined) return { kind: 'none', reason: 'not_configured' };
  if (call.zeroSpend) return { kind: 'none', reason: 'zero_spend' };
  return { kind: 'call', call: remoteCall(call, upstream) };
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
