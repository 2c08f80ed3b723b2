import type { Circuits } from '../circuit/circuits.ts';
import type { ChatRequest } from '../request/chat-request.ts';
import type { LocalTarget } from '../request/upstreams.ts';
import { chooseInOrder, MAX_TRIES } from './choice.ts';
import { offering } from './offers.ts';
import { idOf, mayBeAsked, type OutOf } from './out.ts';
import type { Predictions } from './predictions.ts';

/** What the order of the machines goes by. */
export interface OrderDeps {
  readonly circuits: Circuits;
  /** In [0, 1). */
  readonly random: () => number;
  /** Requests that a provider serves now. */
  readonly inFlightAt: (id: string) => number;
  readonly predictions: Predictions;
}

/** Those that offer the model asked for come before others, who would be asked for their own. */
export function preferred(
  targets: readonly LocalTarget[],
  request: ChatRequest,
  outOf: OutOf,
  deps: OrderDeps,
): LocalTarget[] {
  const isIn = (target: LocalTarget) => outOf(target) === null;
  const promptBytes = request.bytes.length;
  const first = admitted(offering(targets, request.model), isIn, promptBytes, deps);
  if (first.length >= MAX_TRIES) return first;
  const chosen: ReadonlySet<LocalTarget> = new Set(first);
  const isOther = (target: LocalTarget) => !chosen.has(target) && isIn(target);
  const others = admitted(targets, isOther, promptBytes, deps);
  return [...first, ...others].slice(0, MAX_TRIES);
}

function admitted(
  targets: readonly LocalTarget[],
  isIn: (target: LocalTarget) => boolean,
  promptBytes: number,
  { circuits, inFlightAt, predictions, random }: OrderDeps,
): LocalTarget[] {
  const ewmaTtftAt = (id: string) => circuits.at(id).breaker.health.ttft?.value ?? null;
  const standing = (target: LocalTarget) => {
    if (!isIn(target)) return null;
    const id = idOf(target);
    const predictedTtft = predictions.at(id, promptBytes)?.ttftMs ?? null;
    return { target, ewmaTtft: ewmaTtftAt(id), predictedTtft, inFlight: inFlightAt(id) };
  };
  // The circuit of `local` has had the samples of all of them.
  return chooseInOrder(targets, standing, ewmaTtftAt('local'), random);
}

/** The machines that may be asked although they are out, the one that comes back first in front (design 4). */
export function soonestFirst(targets: readonly LocalTarget[], outOf: OutOf): LocalTarget[] {
  const waits = targets.flatMap((target) => {
    const out = outOf(target);
    return out === null || mayBeAsked(out) ? [{ target, waitMs: out?.waitMs ?? 0 }] : [];
  });
  return waits.toSorted((a, b) => a.waitMs - b.waitMs).map(({ target }) => target);
}
