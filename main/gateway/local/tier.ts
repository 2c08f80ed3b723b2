import { askUpstream, type AskDeps, type Asked, type Errand } from '../asking.ts';
import type { Circuits, Out } from '../circuit/circuits.ts';
import type { Result } from '../circuit/results.ts';
import type { Failed, Left } from '../outcome/trail.ts';
import { localCall, type ChatCall } from '../request/calls.ts';
import { localModel, type LocalTarget } from '../request/upstreams.ts';
import { NEUTRAL, resultOf } from '../watch/attempt-log.ts';
import { chooseInOrder, MAX_TRIES } from './choice.ts';
import { offering } from './offers.ts';

/** What the tier needs of the world. */
export interface TierDeps extends AskDeps {
  /** Requests that a provider serves now. */
  readonly inFlightAt: (id: string) => number;
}

/** What came of asking the tier; `left` has the machines that were left, in order. */
export type TierAsked =
  | (Extract<Asked, { readonly kind: 'answered' }> & { readonly left: readonly Left[] })
  | { readonly kind: 'left'; readonly left: readonly Left[] }
  | { readonly kind: 'cancelled' };

/** How a circuit is entered: as usual, or because somebody must be asked. */
export type Door = 'enter' | 'enterAnyway';

/**
 * Asks the machines of the local tier, one after the other, at most three, each with an equal share of the
 * tier's time (design 7). The circuit of `local` counts the tier, each machine's own counts the machine.
 */
export async function askTier(
  targets: readonly LocalTarget[],
  door: Door,
  errand: Errand & { readonly call: ChatCall },
  deps: TierDeps,
): Promise<TierAsked> {
  const { circuits } = deps;
  const { call, config, epoch } = errand;
  const outOf = (target: LocalTarget) => outFor(target, call, circuits);
  const order =
    door === 'enter'
      ? preferred(targets, call.request.model, outOf, deps)
      : soonestFirst(targets, outOf);
  // Of those that are out only one is asked, the first whose probe is not out already.
  const tries = door === 'enter' ? order.length : 1;
  if (order.length === 0) return { kind: 'left', left: [outOfAll(targets, outOf)] };
  const wish = { model: '', timeoutMs: config.local.timeoutMs };
  const entry = circuits[door]('local', wish, epoch);
  if (entry.kind === 'out') return { kind: 'left', left: [skipped(entry)] };
  const tier = { id: 'local', ticket: entry.ticket };
  const left: Failed[] = [];
  for (const target of order) {
    const id = idOf(target);
    const ready = localCall(call, target, config, tries);
    const own = circuits[door](id, ready, epoch);
    if (own.kind === 'out') continue;
    const asked = await askUpstream(ready, { own: { id, ticket: own.ticket }, tier }, errand, deps);
    if (asked.kind === 'answered') return { ...asked, left };
    if (asked.kind === 'cancelled') {
      circuits.record(tier.id, tier.ticket, NEUTRAL);
      return asked;
    }
    left.push({ ...asked, upstream: 'local', provider: id });
    if (!asked.failure.fallBack || left.length === tries) break;
  }
  circuits.record(tier.id, tier.ticket, tierResult(left, targets, outOf));
  return { kind: 'left', left: left.length === 0 ? [outOfAll(targets, outOf)] : left };
}

/** Those that offer the model asked for come before others, who would be asked for their own. */
function preferred(
  targets: readonly LocalTarget[],
  model: string | null,
  outOf: OutOf,
  deps: TierDeps,
): LocalTarget[] {
  const isIn = (target: LocalTarget) => outOf(target) === null;
  const first = admitted(offering(targets, model), isIn, deps);
  if (first.length >= MAX_TRIES) return first;
  const chosen: ReadonlySet<LocalTarget> = new Set(first);
  const others = admitted(targets, (target) => !chosen.has(target) && isIn(target), deps);
  return [...first, ...others].slice(0, MAX_TRIES);
}

type OutOf = (target: LocalTarget) => Out | null;

const idOf = ({ provider }: LocalTarget) => provider ?? 'local';

function outFor(target: LocalTarget, { request }: ChatCall, circuits: Circuits): Out | null {
  return circuits.outOf(idOf(target), localModel(target, request.model) ?? '');
}

/** The tier has failed when nobody of it is well: three were asked, a fourth or one that is busy may be. */
function tierResult(
  left: readonly Failed[],
  targets: readonly LocalTarget[],
  outOf: OutOf,
): Result {
  const marks = new Map(left.map(({ provider, failure }) => [provider, failure.mark]));
  const isWell = (target: LocalTarget) => {
    const mark = marks.get(target.provider);
    if (mark !== undefined) return mark === 'neutral';
    const reason = outOf(target)?.reason;
    return reason === undefined || reason === 'busy' || reason === 'model_not_found';
  };
  const last = left.at(-1);
  return last === undefined || targets.some(isWell) ? NEUTRAL : resultOf(last.failure);
}

function admitted(
  targets: readonly LocalTarget[],
  isIn: (target: LocalTarget) => boolean,
  { circuits, inFlightAt, random }: TierDeps,
): LocalTarget[] {
  const ewmaTtftAt = (id: string) => circuits.at(id).breaker.health.ttft?.value ?? null;
  const standing = (target: LocalTarget) => {
    if (!isIn(target)) return null;
    const id = idOf(target);
    return { target, ewmaTtft: ewmaTtftAt(id), inFlight: inFlightAt(id) };
  };
  // The circuit of `local` has had the samples of all of them.
  return chooseInOrder(targets, standing, ewmaTtftAt('local'), random);
}

/** The machines that may be asked although they are out, the one that comes back first in front (design 4). */
function soonestFirst(targets: readonly LocalTarget[], outOf: OutOf): LocalTarget[] {
  const waits = targets.flatMap((target) => {
    const out = outOf(target);
    return out === null || mayBeAsked(out) ? [{ target, waitMs: out?.waitMs ?? 0 }] : [];
  });
  return waits.toSorted((a, b) => a.waitMs - b.waitMs).map(({ target }) => target);
}

/** Why the tier is out when all of its machines are: for the one that comes back first. */
function outOfAll(targets: readonly LocalTarget[], outOf: OutOf): Left {
  const outs = targets.map(outOf).filter((out) => out !== null);
  const [first] = outs.toSorted(
    (a, b) => Number(mayBeAsked(b)) - Number(mayBeAsked(a)) || a.waitMs - b.waitMs,
  );
  return first === undefined
    ? { kind: 'skipped', upstream: 'local', reason: 'no_provider', waitMs: null }
    : skipped(first);
}

/** What a person or a bill keeps out is never overridden. */
function mayBeAsked({ reason }: Out): boolean {
  return reason === 'circuit_open' || reason === 'busy';
}

function skipped({ reason, waitMs }: Out): Left {
  return { kind: 'skipped', upstream: 'local', reason, waitMs };
}
