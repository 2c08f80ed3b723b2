import type { UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import type { AdmissionMode, Circuits, Excluded } from '../circuits/circuits.ts';
import { circuitResultOf, NEUTRAL, type Result } from '../circuits/breaker.ts';
import { modelAt, type UpstreamCall } from '../upstream/call.ts';
import type { ChatRequest } from '../protocols/chat-request.ts';
import { newBytesOf, type PromptChain } from '../protocols/prompt-chain.ts';
import { estimatedTokens } from '../protocols/usage.ts';
import { isForChat } from '../../engines/models.ts';
import { askedNames, circuitIdOf, isUnloaded, type LocalTarget } from '../upstream/upstreams.ts';
import { forcedRank, type Skip, skipped, type UpstreamOutcome, wasAttempted } from './outcomes.ts';
import { cachedPrefix, readingRate } from './prefixes.ts';
import type { Memory } from '../memory/memory.ts';
/** A call of an upstream, or of one machine of the local pool. */
export interface SingleCall {
  readonly kind: 'single';
  readonly upstream: UpstreamId;
  /** Of its circuit. */
  readonly id: string;
  /** Made when it is needed: most requests call one upstream of their walk. */
  readonly call: () => UpstreamCall;
}

export interface BalancingDeps {
  readonly circuits: Circuits;
  /** In [0, 1). */
  readonly random: () => number;
  readonly inFlightAt: (id: string) => number;
  /** Whether one of this gateway's is for the model. */
  readonly isRunning: (id: string, model: string) => boolean;
  readonly memory: Memory;
}

interface PoolRequest {
  readonly request: ChatRequest;
  readonly config: Config;
  /** Of its prompt; null if it does not matter which machine had the earlier part of it. */
  readonly chain: PromptChain | null;
  /** `isAlone`: no other machine will be called. */
  readonly callTo: (target: LocalTarget, isAlone: boolean) => UpstreamCall;
}

/** The machines of the local pool, at most three of them in turn. */
export interface LocalPool {
  readonly timeoutMs: number;
  /** In the order of preference; to be asked for once, when the pool's turn has come. */
  readonly machines: (mode: AdmissionMode) => readonly SingleCall[];
  /** Why the pool is excluded when none of its machines is called. */
  readonly exclusion: () => Skip;
  /** What the calls say of the pool as a whole. */
  readonly result: (outcomes: readonly UpstreamOutcome[]) => Result;
  readonly without: (providers: readonly string[]) => LocalPool;
}

export function localPool(targets: Targets, asked: PoolRequest, deps: BalancingDeps): LocalPool {
  const { request, config, callTo } = asked;
  const exclusionOf = (target: LocalTarget) =>
    deps.circuits.exclusionOf(circuitIdOf(target), modelAt(target, request) ?? '') ??
    loadingUnderRequest(target, request, deps);
  return {
    machines(mode) {
      const isForced = mode === 'forced';
      const ordered = isForced
        ? forcibleFirst(targets, exclusionOf, config.routing.retryAfterMaxMs)
        : preferred(targets, asked, exclusionOf, deps);
      const isAlone = isForced || ordered.length === 1;
      return ordered.map((target) => {
        const id = circuitIdOf(target);
        return { kind: 'single', upstream: 'local', id, call: () => callTo(target, isAlone) };
      });
    },
    timeoutMs: config.local.timeoutMs,
    exclusion: () => poolExclusion(targets, exclusionOf),
    result: (outcomes) => poolResult(outcomes, targets, exclusionOf),
    without(providers) {
      const others = targets.filter(({ provider }) => !providers.includes(provider ?? ''));
      return localPool(others, asked, deps);
    },
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
  return isUnloaded(target, model) && !isRunning(id, model) ? UNTIL_IT_IS_IDLE : null;
}

/** Machines called for one request. */
const MAX_TRIES = 3;

/**
 * At most three admitted machines in the order of the calls: those that have the requested model in memory, those that
 * have it on disk, then others with their own, of which those with one in memory come first.
 */
function preferred(
  targets: Targets,
  { request, chain }: PoolRequest,
  exclusionOf: ExclusionOf,
  { circuits, inFlightAt, memory, random }: BalancingDeps,
): readonly LocalTarget[] {
  const promptBytes = request.bytes.length;
  const admitted = targets.filter((target) => exclusionOf(target) === null);
  const members = shuffled(admitted, random).map((target): PoolMember => {
    const id = circuitIdOf(target);
    const known = memory.of(id);
    const prefix = chain === null ? null : cachedPrefix(known, chain);
    return {
      target,
      tokensPerSecond: readingRate(known, modelAt(target, request) ?? ''),
      ewmaTtft: circuits.at(id).breaker.health.ttft?.value ?? null,
      newTokens: estimatedTokens(newBytesOf({ promptBytes, prefix }), 0).input,
      inFlight: inFlightAt(id),
      isHome: prefix?.isConversation ?? false,
      cached: prefix === null ? 0 : known.count('prefixes'),
    };
  });
  const byRank = Map.groupBy(members, ({ target }) => rankOf(target, request.model));
  return RANKS.flatMap((rank) => cheapestFirst(byRank.get(rank) ?? [])).slice(0, MAX_TRIES);
}

const RANKS = [0, 1, 2, 3] as const;

/**
 * 0: it does not say that it would have to load the model; 1: it would; 2: it has not got that, and need not load the one
 * with which it answers to any other name; 3: it must.
 */
function rankOf({ models, facts }: LocalTarget, model: string | null): (typeof RANKS)[number] {
  const offered =
    model === null ? [] : (models ?? []).filter((each) => askedNames(each).includes(model));
  const isLoaded = (name: string) => facts?.find(({ id }) => id === name)?.loaded !== false;
  if (offered.some(isLoaded)) return 0;
  if (offered.length > 0) return 1;
  return facts?.find(isForChat)?.loaded === false ? 3 : 2;
}

/** Machines that may be forced, soonest first; one that is not excluded waits 0 ms. */
function forcibleFirst(targets: Targets, exclusionOf: ExclusionOf, maxWaitMs: number): Targets {
  return targets
    .flatMap((target) => {
      const excluded = exclusionOf(target);
      const rank = excluded === null ? 0 : forcedRank(excluded, maxWaitMs);
      return rank === null ? [] : [{ target, rank, waitMs: excluded?.waitMs ?? 0 }];
    })
    .toSorted((a, b) => a.rank - b.rank || a.waitMs - b.waitMs)
    .map(({ target }) => target);
}

/** In random order; `random` is in [0, 1). */
export function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  const drawn = [...items];
  for (let first = 0; first < drawn.length - 1; first += 1) {
    const at = first + Math.floor(random() * (drawn.length - first));
    // Both are within the list.
    [drawn[first], drawn[at]] = [drawn[at] as T, drawn[first] as T];
  }
  return drawn;
}

type Targets = readonly LocalTarget[];

type ExclusionOf = (target: LocalTarget) => Excluded | null;

/** The pool has failed when no machine in it is well; one that was not called, or is only busy, may be. */
function poolResult(
  outcomes: readonly UpstreamOutcome[],
  targets: Targets,
  exclusionOf: ExclusionOf,
): Result {
  const calls = outcomes.filter((each) => each.kind !== 'skipped');
  const isWell = (target: LocalTarget) => {
    const outcome = calls.find(({ provider }) => provider === target.provider);
    if (outcome !== undefined)
      return outcome.kind !== 'failed' || outcome.failure.mark !== 'failure';
    const reason = exclusionOf(target)?.reason;
    return reason === undefined || reason === 'busy' || reason === 'model_not_found';
  };
  const last = calls.findLast(wasAttempted);
  // Without times: those count in each machine's own circuit.
  return last === undefined || targets.some(isWell) ? NEUTRAL : circuitResultOf(last.failure);
}

/** Why the pool is excluded when all of its machines are: by one that may be forced, or else by what ends soonest. */
export function poolExclusion(targets: Targets, exclusionOf: ExclusionOf): Skip {
  const exclusions = targets.map(exclusionOf).filter((excluded) => excluded !== null);
  const isForcible = (excluded: Excluded) => forcedRank(excluded, -1) === 0;
  const [first] = exclusions.toSorted(
    (a, b) => Number(isForcible(b)) - Number(isForcible(a)) || a.waitMs - b.waitMs,
  );
  return skipped('local', first ?? { reason: 'no_provider' });
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
  /** How many beginnings of prompts it has. */
  readonly cached: number;
}

/** A small GPU. */
const DEFAULT_TOKENS_PER_SECOND = 1000;
/** What an answer takes apart from prefill. More precise times are noise, and a cost of 0 would stay 0 under any load. */
const BASE_MS = 100;
/** Costs are estimates: what is nearer to the best is as good. */
const NEAR = 1.1;

/**
 * Machines in the order of preference: the lowest expected time to first token times load first, so that a warm cache, load
 * and speed are one number. Among those that are about as good the conversation's own comes first, then the one that has
 * read the fewest messages, as caches are small.
 */
export function cheapestFirst(members: readonly PoolMember[]): LocalTarget[] {
  const known = members.flatMap(({ tokensPerSecond }) => tokensPerSecond ?? []);
  const usual =
    known.length === 0
      ? DEFAULT_TOKENS_PER_SECOND
      : known.reduce((total, each) => total + each, 0) / known.length;

  function costOf({ tokensPerSecond, ewmaTtft, newTokens, inFlight }: PoolMember): number {
    // Short prompts tell nothing of its prefill, but all of them tell how slow it is apart from that.
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
        ? Number(b.isHome) - Number(a.isHome) || a.cached - b.cached || a.cost - b.cost
        : a.cost - b.cost,
    )
    .map(({ target }) => target);
}
