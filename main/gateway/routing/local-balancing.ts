import type { Circuits, Excluded } from '../circuits/circuits.ts';
import type { Result } from '../circuits/transitions.ts';
import { NEUTRAL, circuitResultOf } from '../circuits/transitions.ts';
import type { ChatRequest } from '../upstream/chat-request.ts';
import type { LocalTarget } from '../upstream/upstreams.ts';
import type { Failed, UpstreamOutcome, Outrun } from './fallback-reasons.ts';
import type { Predictions } from './ttft-predictions.ts';

/** What the order of the machines goes by. */
export interface BalancingDeps {
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
  deps: BalancingDeps,
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
  { circuits, inFlightAt, predictions, random }: BalancingDeps,
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

/** Excluded machines that may be forced, soonest first. */
export function soonestFirst(targets: readonly LocalTarget[], outOf: OutOf): LocalTarget[] {
  const waits = targets.flatMap((target) => {
    const out = outOf(target);
    return out === null || mayBeAsked(out) ? [{ target, waitMs: out?.waitMs ?? 0 }] : [];
  });
  return waits.toSorted((a, b) => a.waitMs - b.waitMs).map(({ target }) => target);
}

/** A machine of the local tier, as routing chooses among them. */
export interface PoolMember {
  readonly target: LocalTarget;
  /** Its time-decayed time to first token in milliseconds; null while it is unknown. */
  readonly ewmaTtft: number | null;
  /** The time to first token that this prompt is predicted to take there; null where nobody can tell. */
  readonly predictedTtft: number | null;
  /** Requests that it serves now. */
  readonly inFlight: number;
}

/** At most this many machines are called for one request. */
const MAX_TRIES = 3;
/** Below it, time says nothing; a cost of 0 would stay 0 under any load. */
const SHORTEST_TTFT_MS = 1;

/**
 * Those whom one request may be sent to, in order: each the better one of two that chance picked, by time
 * to first token and load. The best of all would be everybody's choice at once. What is predicted for the
 * prompt goes before the mean of a machine's others. `standing` is null for a machine that is out;
 * `meanTtft` stands for one that is not known yet.
 */
export function chooseInOrder(
  targets: readonly LocalTarget[],
  standing: (target: LocalTarget) => PoolMember | null,
  meanTtft: number | null,
  random: () => number,
): LocalTarget[] {
  const costOf = ({ predictedTtft, ewmaTtft, inFlight }: PoolMember) => {
    const ttftMs = predictedTtft ?? ewmaTtft ?? meanTtft ?? SHORTEST_TTFT_MS;
    return Math.max(ttftMs, SHORTEST_TTFT_MS) * (inFlight + 1);
  };
  const chosen: LocalTarget[] = [];
  let rival: PoolMember | null = null;
  for (const index of shuffled(targets.length, random)) {
    const target = targets[index];
    const next = target === undefined ? null : standing(target);
    if (next === null) continue;
    if (rival === null) {
      rival = next;
      continue;
    }
    const isBetter: boolean = costOf(next) < costOf(rival);
    chosen.push(isBetter ? next.target : rival.target);
    if (!isBetter) rival = next;
    if (chosen.length === MAX_TRIES) return chosen;
  }
  return rival === null ? chosen : [...chosen, rival.target];
}

/** The whole numbers below `count` in random order, each once; it costs what is taken of it. `random` is in [0, 1). */
export function* shuffled(count: number, random: () => number): Generator<number, void> {
  const moved = new Map<number, number>();
  for (let at = 0; at < count; at += 1) {
    const chosen = at + Math.floor(random() * (count - at));
    yield moved.get(chosen) ?? chosen;
    moved.set(chosen, moved.get(at) ?? at);
  }
}

type Targets = readonly LocalTarget[];

/** By the list of targets, which stays the same array for as long as it does not change. */
const indexes = new WeakMap<Targets, ReadonlyMap<string, Targets>>();

/** The machines that offer `model`; none where no model is asked for. A list is searched once, however long. */
function offering(targets: Targets, model: string | null): Targets {
  if (model === null) return [];
  let index = indexes.get(targets);
  if (index === undefined) {
    index = indexOf(targets);
    indexes.set(targets, index);
  }
  return index.get(model) ?? [];
}

function indexOf(targets: Targets): ReadonlyMap<string, Targets> {
  const index = new Map<string, LocalTarget[]>();
  for (const target of targets) {
    for (const model of new Set(target.models)) {
      const those = index.get(model);
      if (those === undefined) index.set(model, [target]);
      else those.push(target);
    }
  }
  return index;
}

/** Why a machine is out; null where it is not. */
type OutOf = (target: LocalTarget) => Excluded | null;

/** What the circuits and counters know a machine by; a fixed engine is the upstream itself. */
export function idOf({ provider }: LocalTarget): string {
  return provider ?? 'local';
}

/** How long each machine was silent is its own affair. */
const NO_TIME = { ms: 0, silentMs: 0 };

/** The tier has failed when nobody of it is well: three were asked, a fourth or one that is busy may be. */
export function poolResult(
  outcomes: readonly (Failed | Outrun)[],
  targets: readonly LocalTarget[],
  outOf: OutOf,
): Result {
  const failed = outcomes.filter((each) => each.kind === 'failed');
  const asked = new Set(outcomes.map(({ provider }) => provider));
  const unwell = failed.filter(({ failure }) => failure.mark === 'failure');
  const marked = new Set(unwell.map(({ provider }) => provider));
  const isWell = (target: LocalTarget) => {
    if (asked.has(target.provider)) return !marked.has(target.provider);
    const reason = outOf(target)?.reason;
    return reason === undefined || reason === 'busy' || reason === 'model_not_found';
  };
  const last = failed.at(-1);
  return last === undefined || targets.some(isWell)
    ? NEUTRAL
    : circuitResultOf(last.failure, NO_TIME);
}

/** Why the tier is out when all of its machines are: for the one that comes back first. */
export function poolExclusion(targets: readonly LocalTarget[], outOf: OutOf): UpstreamOutcome {
  const outs = targets.map(outOf).filter((out) => out !== null);
  const [first] = outs.toSorted(
    (a, b) => Number(mayBeAsked(b)) - Number(mayBeAsked(a)) || a.waitMs - b.waitMs,
  );
  return first === undefined
    ? { kind: 'skipped', upstream: 'local', reason: 'no_provider', waitMs: null, backAtTicks: null }
    : skipped(first);
}

/** What a person or a bill keeps out is never overridden. */
function mayBeAsked({ reason }: Excluded): boolean {
  return reason === 'circuit_open' || reason === 'busy';
}

/** The tier as one that was not asked. */
export function skipped({ reason, waitMs, backAtTicks }: Excluded): UpstreamOutcome {
  return { kind: 'skipped', upstream: 'local', reason, waitMs, backAtTicks };
}
