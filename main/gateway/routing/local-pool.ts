import type { Config } from '../../config/schema.ts';
import type { AdmissionMode, Circuits, Excluded } from '../circuits/circuits.ts';
import { circuitResultOf, NEUTRAL, type Result } from '../circuits/breaker.ts';
import { type ChatCall, localCall, modelAt, type UpstreamCall } from '../upstream/call.ts';
import type { ChatRequest } from '../protocols/chat-request.ts';
import { newBytesOf, type PromptChain } from '../protocols/prompt-chain.ts';
import { estimatedTokens } from '../protocols/usage.ts';
import { isForChat } from '../../engines/models.ts';
import { askedNames, circuitIdOf, listedName, type LocalTarget } from '../upstream/upstreams.ts';
import type { Failed, HedgeLost, Skipped } from './outcomes.ts';
import type { Prefixes } from './prefixes.ts';
import type { ReadingRates } from './reading-rates.ts';

export interface Callable {
  /** Of its circuit. */
  readonly id: string;
  readonly call: () => UpstreamCall;
}

export interface CallablePool {
  /** The calls in the order of preference; asked for once, when the pool's turn has come. */
  readonly callables: (mode: AdmissionMode) => readonly Callable[];
  readonly timeoutMs: number;
  /** Why the pool is excluded when none of its machines is called. */
  readonly exclusion: () => Skipped;
  /** What the calls say of the pool as a whole. */
  readonly result: (ended: readonly (Failed | HedgeLost)[]) => Result;
}

export interface BalancingDeps {
  readonly circuits: Circuits;
  /** In [0, 1). */
  readonly random: () => number;
  readonly inFlightAt: (id: string) => number;
  /** Whether one of this gateway's is for the model. */
  readonly isRunning: (id: string, model: string) => boolean;
  readonly rates: ReadingRates;
  readonly prefixes: Prefixes;
}

export interface LocalPoolRequest {
  readonly request: ChatRequest;
  readonly formAt: (target: LocalTarget) => ChatCall;
  readonly config: Config;
  /** Of its prompt; null if it does not matter which machine had the earlier part of it. */
  readonly chain: PromptChain | null;
}

/** The machines of the local pool, at most three of them in turn, each with an equal share of the pool's time. */
export function localPool(
  targets: Targets,
  asked: LocalPoolRequest,
  deps: BalancingDeps,
): CallablePool {
  const { request, formAt, config, chain } = asked;
  const exclusionOf = (target: LocalTarget) =>
    deps.circuits.exclusionOf(circuitIdOf(target), modelAt(target, request) ?? '') ??
    loadingUnderRequest(target, request, deps);
  const prefixAt = (target: LocalTarget) =>
    chain === null ? null : deps.prefixes.at(circuitIdOf(target), chain);

  function inOrder(mode: AdmissionMode): Targets {
    switch (mode) {
      case 'forced':
        return soonestFirst(targets, exclusionOf);
      case 'again':
        return soonest(targets, exclusionOf);
      default:
        return preferred(targets, asked, exclusionOf, deps);
    }
  }

  return {
    callables(mode) {
      const ordered = inOrder(mode);
      const peers = mode === 'forced' ? 1 : ordered.length;
      return ordered.map((target) => ({
        id: circuitIdOf(target),
        call: () =>
          localCall({ ...formAt(target), prefix: prefixAt(target) }, target, config, peers),
      }));
    },
    timeoutMs: config.local.timeoutMs,
    exclusion: () => poolExclusion(targets, exclusionOf),
    result: (ended) => poolResult(ended, targets, exclusionOf),
  };
}

/** It is admitted again as soon as its requests have ended. */
const UNTIL_IT_IS_IDLE: Excluded = { kind: 'excluded', reason: 'busy', waitMs: 0, backAtTicks: 0 };

/**
 * A machine on which the request would load a model while another one runs: that may throw out the model that is
 * answering. One that is being loaded for an earlier request is waited for. Embedders and rerankers are small, and no
 * other upstream may stand in for them.
 */
function loadingUnderRequest(
  target: LocalTarget,
  request: ChatRequest,
  { inFlightAt, isRunning }: BalancingDeps,
): Excluded | null {
  const id = circuitIdOf(target);
  if (request.endpoint.keepsModel || inFlightAt(id) === 0) return null;
  const model = modelAt(target, request) ?? '';
  const name = listedName(target.models ?? [], model) ?? model;
  const isUnloaded = target.facts?.find((facts) => facts.id === name)?.loaded === false;
  return isUnloaded && !isRunning(id, model) ? UNTIL_IT_IS_IDLE : null;
}

/**
 * At most three admitted machines in the order of the calls: those that have the requested model in memory, those that
 * have it on disk, then others with their own, of which those with one in memory come first.
 */
function preferred(
  targets: Targets,
  asked: LocalPoolRequest,
  exclusionOf: ExclusionOf,
  deps: BalancingDeps,
): LocalTarget[] {
  const admits = (target: LocalTarget) => exclusionOf(target) === null;
  const { loaded, all } = offering(targets, asked.request.model);
  const chosen = new Set<LocalTarget>();
  const isOther = (target: LocalTarget) => !chosen.has(target) && admits(target);
  for (const group of [loaded, all, indexed(targets).ready, targets]) {
    if (chosen.size >= MAX_TRIES) break;
    for (const target of balanced(group, isOther, asked, deps)) chosen.add(target);
  }
  return [...chosen].slice(0, MAX_TRIES);
}

function balanced(
  targets: Targets,
  isEligible: (target: LocalTarget) => boolean,
  { request, chain }: LocalPoolRequest,
  { circuits, inFlightAt, rates, prefixes, random }: BalancingDeps,
): LocalTarget[] {
  const promptBytes = request.bytes.length;
  const holders = () => (chain === null ? [] : prefixes.holders(chain));
  const members = compared(targets, isEligible, holders, random).map((target): PoolMember => {
    const id = circuitIdOf(target);
    const prefix = chain === null ? null : prefixes.at(id, chain);
    return {
      target,
      tokensPerSecond: rates.tokensPerSecond(id, modelAt(target, request) ?? ''),
      ewmaTtft: circuits.at(id).breaker.health.ttft?.value ?? null,
      newTokens: estimatedTokens(newBytesOf({ promptBytes, prefix }), 0).input,
      inFlight: inFlightAt(id),
      isHome: prefix?.isConversation ?? false,
      conversations: prefix === null ? 0 : prefixes.countAt(id),
    };
  });
  return cheapestFirst(members);
}

/** Machines called for one request. */
const MAX_TRIES = 3;
/** Machines compared for one request, beside those that have its beginning: time must not grow with the pool. */
const MAX_COMPARED = 16;

/** Eligible machines in random order; of a large pool some of them, and all `holders`. */
function compared(
  targets: Targets,
  isEligible: (target: LocalTarget) => boolean,
  holders: () => readonly string[],
  random: () => number,
): readonly LocalTarget[] {
  const found = new Set<LocalTarget>();
  for (const index of shuffled(targets.length, random)) {
    const target = targets[index];
    if (target !== undefined && isEligible(target)) found.add(target);
    if (found.size === MAX_COMPARED) break;
  }
  if (found.size === MAX_COMPARED) {
    const byProvider = indexed(targets).byProvider;
    for (const id of holders()) {
      const target = byProvider.get(id);
      if (target !== undefined && isEligible(target)) found.add(target);
    }
  }
  return [...found];
}

/** Machines that may be forced, soonest first; one that is not excluded waits 0 ms. */
function soonestFirst(targets: readonly LocalTarget[], exclusionOf: ExclusionOf): LocalTarget[] {
  const waits = targets.flatMap((target) => {
    const excluded = exclusionOf(target);
    return excluded === null || mayBeForced(excluded)
      ? [{ target, waitMs: excluded?.waitMs ?? 0 }]
      : [];
  });
  return waits.toSorted((a, b) => a.waitMs - b.waitMs).map(({ target }) => target);
}

function soonest(
  targets: readonly LocalTarget[],
  exclusionOf: ExclusionOf,
): readonly LocalTarget[] {
  const waitMsOf = (target: LocalTarget) => exclusionOf(target)?.waitMs ?? 0;
  return targets.toSorted((a, b) => waitMsOf(a) - waitMsOf(b)).slice(0, 1);
}

/**
 * The whole numbers below `count` in random order, each once; time and memory grow with the numbers taken.
 * `random` is in [0, 1).
 */
export function* shuffled(count: number, random: () => number): Generator<number, void> {
  const moved = new Map<number, number>();
  for (let at = 0; at < count; at += 1) {
    const chosen = at + Math.floor(random() * (count - at));
    yield moved.get(chosen) ?? chosen;
    moved.set(chosen, moved.get(at) ?? at);
  }
}

type Targets = readonly LocalTarget[];

interface Offering {
  readonly all: Targets;
  /** Those that do not say that they would have to load it. */
  readonly loaded: Targets;
}

const OFFERED_NOWHERE: Offering = { all: [], loaded: [] };

interface Index {
  readonly byModel: ReadonlyMap<string, Offering>;
  readonly byProvider: ReadonlyMap<string | null, LocalTarget>;
  /** Those that do not say that they would have to load the model with which they answer to any other name. */
  readonly ready: Targets;
}

/** Keyed by the array of targets, which stays the same array while its content does. */
const indexes = new WeakMap<Targets, Index>();

function indexed(targets: Targets): Index {
  const known = indexes.get(targets);
  if (known !== undefined) return known;
  const index = indexOf(targets);
  indexes.set(targets, index);
  return index;
}

/** The machines that offer `model`; none for null. */
function offering(targets: Targets, model: string | null): Offering {
  return (model === null ? undefined : indexed(targets).byModel.get(model)) ?? OFFERED_NOWHERE;
}

function indexOf(targets: Targets): Index {
  const byModel = new Map<string, { all: LocalTarget[]; loaded: LocalTarget[] }>();
  for (const target of targets) {
    const unloaded = new Set(
      target.facts?.filter(({ loaded }) => loaded === false).map(({ id }) => id),
    );
    for (const model of new Set(target.models)) {
      for (const name of askedNames(model)) {
        const those = byModel.get(name) ?? { all: [], loaded: [] };
        byModel.set(name, those);
        // It may list one under two names.
        if (those.all.at(-1) !== target) those.all.push(target);
        if (!unloaded.has(model) && those.loaded.at(-1) !== target) those.loaded.push(target);
      }
    }
  }
  const ready = targets.filter(({ facts }) => facts?.find(isForChat)?.loaded !== false);
  return {
    byModel,
    byProvider: new Map(targets.map((target) => [target.provider, target])),
    ready,
  };
}

type ExclusionOf = (target: LocalTarget) => Excluded | null;

/** The pool has failed when no machine in it is well; one that was not called, or is only busy, may be. */
function poolResult(
  outcomes: readonly (Failed | HedgeLost)[],
  targets: readonly LocalTarget[],
  exclusionOf: ExclusionOf,
): Result {
  const failed = outcomes.filter((each) => each.kind === 'failed');
  const called = new Set(outcomes.map(({ provider }) => provider));
  const unwell = failed.filter(({ failure }) => failure.mark === 'failure');
  const marked = new Set(unwell.map(({ provider }) => provider));
  const isWell = (target: LocalTarget) => {
    if (called.has(target.provider)) return !marked.has(target.provider);
    const reason = exclusionOf(target)?.reason;
    return reason === undefined || reason === 'busy' || reason === 'model_not_found';
  };
  const last = failed.at(-1);
  // Without times: those count in each machine's own circuit.
  return last === undefined || targets.some(isWell) ? NEUTRAL : circuitResultOf(last.failure);
}

/** Why the pool is excluded when all of its machines are: the exclusion that ends soonest, forcible ones first. */
export function poolExclusion(targets: Targets, exclusionOf: ExclusionOf): Skipped {
  const exclusions = targets.map(exclusionOf).filter((excluded) => excluded !== null);
  const [first] = exclusions.toSorted(
    (a, b) => Number(mayBeForced(b)) - Number(mayBeForced(a)) || a.waitMs - b.waitMs,
  );
  return first === undefined
    ? { kind: 'skipped', upstream: 'local', reason: 'no_provider', waitMs: null, backAtTicks: null }
    : skipped('local', first);
}

/** As in `forcible`. */
function mayBeForced({ reason }: Excluded): boolean {
  return reason === 'circuit_open' || reason === 'busy';
}

export interface PoolMember {
  readonly target: LocalTarget;
  /** How fast it reads; null before its first long prompt. */
  readonly tokensPerSecond: number | null;
  /** Time-decayed mean of its times to first token and of its silences, in milliseconds; null while unknown. */
  readonly ewmaTtft: number | null;
  /** What it has yet to read of the prompt: the part behind the prefix in its cache. */
  readonly newTokens: number;
  readonly inFlight: number;
  /** It has the conversation in its cache, not just a system prompt that many begin with. */
  readonly isHome: boolean;
  readonly conversations: number;
}

/** A small GPU. */
const DEFAULT_TOKENS_PER_SECOND = 1000;
/** What an answer takes beside reading. More precise times are noise, and a cost of 0 would stay 0 under any load. */
const BASE_MS = 100;
/** Costs are estimates: what is nearer to the best is as good. */
const NEAR = 1.1;

/**
 * Machines in the order of preference: the lowest expected time to first token times load first, so that a warm cache, load
 * and speed are one number. Among those that are about as good the conversation's own comes first, then the one with the
 * fewest conversations, as caches are small.
 */
export function cheapestFirst(members: readonly PoolMember[]): LocalTarget[] {
  const known = members.flatMap(({ tokensPerSecond }) => tokensPerSecond ?? []);
  const usual =
    known.length === 0
      ? DEFAULT_TOKENS_PER_SECOND
      : known.reduce((total, each) => total + each, 0) / known.length;

  function costOf({ tokensPerSecond, ewmaTtft, newTokens, inFlight }: PoolMember): number {
    // Short prompts tell nothing of its reading, but all of them tell how slow it is beside that.
    const baseMs = tokensPerSecond === null ? Math.max(BASE_MS, ewmaTtft ?? 0) : BASE_MS;
    const readingMs = (1000 * newTokens) / (tokensPerSecond ?? usual);
    return (baseMs + readingMs) * (inFlight + 1);
  }

  const costed = members.map((member) => ({ ...member, cost: costOf(member) }));
  const best = Math.min(...costed.map(({ cost }) => cost));
  const isNear = ({ cost }: { readonly cost: number }) => cost <= NEAR * best;
  return costed
    .toSorted((a, b) =>
      isNear(a) && isNear(b)
        ? Number(b.isHome) - Number(a.isHome) ||
          a.conversations - b.conversations ||
          a.cost - b.cost
        : a.cost - b.cost,
    )
    .map(({ target }) => target);
}

export function skipped(
  upstream: Skipped['upstream'],
  { reason, waitMs, backAtTicks }: Excluded,
): Skipped {
  return { kind: 'skipped', upstream, reason, waitMs, backAtTicks };
}
