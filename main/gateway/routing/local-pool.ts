import type { UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import { type AdmissionMode, circuitResultOf, NEUTRAL, type Result } from '../circuits/breaker.ts';
import type { Rejection } from '../circuits/circuits.ts';
import type { ChatRequest } from '../protocols/chat-request.ts';
import { modelAt, type UpstreamCall } from '../upstream/call.ts';
import { circuitIdOf, isUnloaded, type LocalTarget } from '../upstream/upstreams.ts';
import { type ChoiceDeps, preferred, type ReadRequest } from './machine-choice.ts';
import {
  forcedRank,
  type LostCall,
  type Skip,
  skipped,
  type UpstreamOutcome,
  wasAttempted,
} from './outcomes.ts';

/** A call of an upstream, or of one machine of the local pool. */
export interface SingleCall {
  readonly kind: 'single';
  readonly upstream: UpstreamId;
  /** The id of its circuit. */
  readonly id: string;
  /** Made when it is needed: most requests call one upstream of their walk. */
  readonly call: () => UpstreamCall;
}

export interface BalancingDeps extends ChoiceDeps {
  /** Whether a request of this gateway's is running there for the model. */
  readonly isRunning: (id: string, model: string) => boolean;
}

interface PoolRequest extends ReadRequest {
  readonly config: Config;
  /** `isAlone`: no other machine will be called. */
  readonly machine: (target: LocalTarget, isAlone: boolean) => SingleCall;
}

/** The machines of the local pool, at most three of them in turn. */
export interface LocalPool {
  readonly timeoutMs: number;
  /** The machines in the order of preference. Ask for them once, when the pool's turn has come. */
  readonly machines: (mode: AdmissionMode) => readonly SingleCall[];
  /** Why the pool is excluded when none of its machines is called. */
  readonly exclusion: () => Skip;
  /** What the calls say of the pool as a whole: it has failed when no machine in it is well. */
  readonly result: (outcomes: readonly UpstreamOutcome[]) => Result;
  readonly without: (providers: readonly string[]) => LocalPool;
}

export function localPool(
  targets: readonly LocalTarget[],
  plan: PoolRequest,
  deps: BalancingDeps,
): LocalPool {
  const { request, config, machine } = plan;
  const exclusionOf = (target: LocalTarget) =>
    deps.circuits.exclusionOf(circuitIdOf(target), modelAt(target, request) ?? '') ??
    loadingUnderRequest(target, request, deps);

  /** Soonest first; one that is not excluded waits 0 ms. */
  function forcible(): readonly LocalTarget[] {
    const { retryAfterMaxMs } = config.routing;
    return targets
      .flatMap((target) => {
        const found = exclusionOf(target);
        const rank = found === null ? 0 : forcedRank(found, retryAfterMaxMs);
        return rank === null ? [] : [{ target, rank, waitMs: found?.waitMs ?? 0 }];
      })
      .toSorted((a, b) => a.rank - b.rank || a.waitMs - b.waitMs)
      .map(({ target }) => target);
  }

  /** One that was not called, or is only busy, may be well. */
  function isWell(target: LocalTarget, calls: readonly LostCall[]): boolean {
    const call = calls.find(({ provider }) => provider === target.provider);
    if (call !== undefined) return call.kind !== 'failed' || call.failure.mark !== 'failure';
    const reason = exclusionOf(target)?.reason;
    return reason === undefined || reason === 'busy' || reason === 'model_not_found';
  }

  return {
    timeoutMs: config.local.timeoutMs,
    machines(mode) {
      const isForced = mode === 'forced';
      const admitted = () => targets.filter((target) => exclusionOf(target) === null);
      const ordered = isForced ? forcible() : preferred(admitted(), plan, deps);
      const isAlone = isForced || ordered.length === 1;
      return ordered.map((target) => machine(target, isAlone));
    },
    exclusion: () => poolExclusion(targets.map(exclusionOf)),
    result(outcomes) {
      const calls = outcomes.filter((each) => each.kind !== 'skipped');
      const last = calls.findLast(wasAttempted);
      const hasFailed = last !== undefined && !targets.some((target) => isWell(target, calls));
      // It has no times, because those count in each machine's own circuit.
      return hasFailed ? circuitResultOf(last.failure) : NEUTRAL;
    },
    without(providers) {
      const others = targets.filter(({ provider }) => !providers.includes(provider ?? ''));
      return localPool(others, plan, deps);
    },
  };
}

/** It is admitted again as soon as its requests have ended. */
const UNTIL_IT_IS_IDLE: Rejection = {
  kind: 'excluded',
  reason: 'busy',
  waitMs: 0,
  backAtTicks: 0,
};

/**
 * A machine on which the request would load a model while another one runs: that may throw out the model that is
 * answering. One that is being loaded for an earlier request is waited for. Embedders and rerankers are small, and no
 * other upstream may stand in for them.
 */
function loadingUnderRequest(
  target: LocalTarget,
  request: ChatRequest,
  { inFlightAt, isRunning }: BalancingDeps,
): Rejection | null {
  const id = circuitIdOf(target);
  if (request.endpoint.keepsModel || inFlightAt(id) === 0) return null;
  const model = modelAt(target, request) ?? '';
  return isUnloaded(target, model) && !isRunning(id, model) ? UNTIL_IT_IS_IDLE : null;
}

/** Why the pool is excluded when all of its machines are: by one that may be forced, or else by what ends soonest. */
export function poolExclusion(machines: readonly (Rejection | null)[]): Skip {
  const exclusions = machines.filter((excluded) => excluded !== null);
  const isForcible = (excluded: Rejection) => forcedRank(excluded, -1) === 0;
  const [first] = exclusions.toSorted(
    (a, b) => Number(isForcible(b)) - Number(isForcible(a)) || a.waitMs - b.waitMs,
  );
  return skipped('local', first ?? { reason: 'no_provider' });
}
