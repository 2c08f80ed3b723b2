import type { UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import { type AdmissionMode, circuitResultOf, NEUTRAL, type Result } from '../circuits/breaker.ts';
import type { CircuitPermit, Rejection } from '../circuits/circuits.ts';
import { localCall, type UpstreamCall } from '../upstream/call.ts';
import { type ChoiceDeps, type LocalOption, preferred } from './machine-choice.ts';
import { readingFor } from './lessons.ts';
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
  /** The permit of the local pool, for a machine of one that was entered. */
  readonly pool?: CircuitPermit;
  /** Made when it is needed: most requests call one upstream of their walk. */
  readonly call: () => UpstreamCall;
}

export interface BalancingDeps extends ChoiceDeps {
  /** Whether a request of this gateway's is running there for the model. */
  readonly isRunning: (id: string, model: string) => boolean;
}

/** The machines of the local pool, at most three of them in turn. */
export class LocalPool {
  readonly kind = 'pool';
  readonly upstream = 'local';
  readonly #options: readonly LocalOption[];
  readonly #config: Config;
  readonly #deps: BalancingDeps;

  constructor(options: readonly LocalOption[], config: Config, deps: BalancingDeps) {
    this.#options = options;
    this.#config = config;
    this.#deps = deps;
  }

  /** In the order of preference. Ask for them once, when the pool's turn has come. */
  machines(mode: AdmissionMode): readonly SingleCall[] {
    const config = this.#config;
    if (mode === 'forced')
      return this.#forcible().map((option) =>
        callTo(option, () => localCall(option, config, readingFor(option, config))),
      );
    const admitted = this.#options.filter((option) => this.#exclusionOf(option) === null);
    const machines = preferred(admitted, config, this.#deps);
    const isAlone = machines.length === 1;
    return machines.map((each) =>
      callTo(each.option, () => localCall(each.option, config, each, isAlone)),
    );
  }

  /** Why the pool is excluded when none of its machines is called. */
  exclusion(): Skip {
    const first = firstBack(this.#options.map(this.#exclusionOf));
    return skipped('local', first ?? { reason: 'no_provider' });
  }

  /** What the calls say of the pool as a whole: it has failed when no machine in it is well. */
  result(outcomes: readonly UpstreamOutcome[]): Result {
    const calls = outcomes.filter((each) => each.kind !== 'skipped');
    const last = calls.findLast(wasAttempted);
    const hasFailed =
      last !== undefined && !this.#options.some((each) => this.#isWell(each, calls));
    // It has no times, because those count in each machine's own circuit.
    return hasFailed ? circuitResultOf(last.failure) : NEUTRAL;
  }

  without(providers: readonly string[]): LocalPool {
    const others = this.#options.filter(({ id }) => !providers.includes(id));
    return new LocalPool(others, this.#config, this.#deps);
  }

  readonly #exclusionOf = (option: LocalOption): Rejection | null =>
    this.#deps.circuits.exclusionOf(option.id, option.model ?? '') ??
    loadingUnderRequest(option, this.#deps);

  /** Soonest first; one that is not excluded waits 0 ms. */
  #forcible(): readonly LocalOption[] {
    const { retryAfterMaxMs } = this.#config.routing;
    return this.#options
      .flatMap((option) => {
        const found = this.#exclusionOf(option);
        const rank = found === null ? 0 : forcedRank(found, retryAfterMaxMs);
        return rank === null ? [] : [{ option, rank, waitMs: found?.waitMs ?? 0 }];
      })
      .toSorted((a, b) => a.rank - b.rank || a.waitMs - b.waitMs)
      .map(({ option }) => option);
  }

  /** One that was not called, or is only busy, may be well. */
  #isWell(option: LocalOption, calls: readonly LostCall[]): boolean {
    const call = calls.find(({ provider }) => provider === option.target.provider);
    if (call !== undefined) return call.kind !== 'failed' || call.failure.mark !== 'failure';
    const reason = this.#exclusionOf(option)?.reason;
    return reason === undefined || reason === 'busy' || reason === 'model_not_found';
  }
}

const callTo = ({ id }: LocalOption, call: SingleCall['call']): SingleCall => {
  return { kind: 'single', upstream: 'local', id, call };
};

/** It is admitted again as soon as its requests have ended. */
const UNTIL_IDLE: Rejection = { kind: 'excluded', reason: 'busy', waitMs: 0, backAtTicks: 0 };

/**
 * A machine on which the request would load a model while another one runs: that may throw out the model that is
 * answering. One that is being loaded for an earlier request is waited for. Embedders and rerankers are small, and no
 * other upstream may stand in for them.
 */
function loadingUnderRequest(
  { id, form, model, facts }: LocalOption,
  { inFlightAt, isRunning }: BalancingDeps,
): Rejection | null {
  if (form.request.endpoint.keepsModel || inFlightAt(id) === 0) return null;
  return facts?.loaded === false && !isRunning(id, model ?? '') ? UNTIL_IDLE : null;
}

/** Why the pool is excluded when all of its machines are: by one that may be forced, or else by what ends soonest. */
export function firstBack<T extends Rejection>(machines: readonly (T | null)[]): T | null {
  const rank = (excluded: Rejection) => forcedRank(excluded, -1) ?? 1;
  const [first] = machines
    .filter((excluded) => excluded !== null)
    .toSorted((a, b) => rank(a) - rank(b) || a.waitMs - b.waitMs);
  return first ?? null;
}
