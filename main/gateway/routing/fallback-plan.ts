import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import { type ChatCall, localCall, remoteCall } from '../upstream/call.ts';
import type { Failure } from '../upstream/failure.ts';
import type { LocalTarget, RemoteUpstream } from '../upstream/upstreams.ts';
import {
  type AdmissionMode,
  type AdmittedCall,
  SingleCandidate,
  SkippedCandidate,
  type Candidate,
  type CallFilter,
} from './candidate.ts';
import { type UpstreamOutcome, type Skipped, forcibleSoonestFirst } from './fallback-reasons.ts';
import type { BalancingDeps } from './local-balancing.ts';
import { localPoolCandidate } from './local-pool.ts';
import { type PredictedSlowDeps, isLocalTooSlow } from './predicted-slow.ts';

/** What the walk needs of the world. */
export interface FallbackPlanDeps extends BalancingDeps, PredictedSlowDeps {
  /** `local` is lost, or could not be tried. */
  readonly localLost: (outcomes: readonly UpstreamOutcome[]) => void;
}

/** The request that walks. */
export interface RoutedRequest {
  readonly call: ChatCall;
  readonly config: Config;
  readonly remotes: readonly RemoteUpstream[];
  /** Of the circuits, when the request took up its addresses and keys. */
  readonly epoch: number;
}

/** A call on the way, and where it is made. */
export interface Dispatch {
  readonly candidate: Candidate;
  readonly admitted: AdmittedCall;
}

const ANY: CallFilter = () => true;

/** The way of one request over the upstreams: who comes next, and what was left behind. */
export class FallbackPlan {
  readonly #walker: RoutedRequest;
  readonly #deps: FallbackPlanDeps;
  /** In the order in which they are asked: routing order, but for a `local` that was put off. */
  #ids: readonly UpstreamId[] = UPSTREAM_IDS;
  /** Those reached so far. */
  #candidates: Candidate[] = [];
  #isEnded = false;
  #isLocalReported = false;
  /** `local` was passed by for being slow; it is asked should nobody else serve. */
  #isLocalDeferred = false;
  /** Machines of the local tier that were asked. */
  readonly #machines = new Set<string>();
  /** The call to one that was out. */
  #soonest: Dispatch | null = null;

  constructor(walker: RoutedRequest, deps: FallbackPlanDeps) {
    this.#walker = walker;
    this.#deps = deps;
  }

  /** The next call in routing order; null once everybody has been asked, or nobody else may be. */
  next(mode: AdmissionMode = 'admit', filter: CallFilter = ANY): Dispatch | null {
    if (this.#isEnded) return null;
    for (const [index, id] of this.#ids.entries()) {
      const candidate = (this.#candidates[index] ??= this.#candidateAt(id));
      const admitted = candidate.next(mode, filter);
      if (admitted !== null) return this.#stepTo(candidate, admitted);
      this.#reportLocalLost(candidate);
    }
    if (!this.#isLocalDeferred || mode !== 'admit') return null;
    this.#retryDeferredLocal();
    return this.next(mode, filter);
  }

  /** Nobody else could serve: then a slow `local` is better than none, and it comes last. */
  #retryDeferredLocal(): void {
    this.#isLocalDeferred = false;
    this.#ids = [...this.#ids.slice(1), 'local'];
    this.#candidates = [...this.#candidates.slice(1), this.#localCandidate()];
  }

  /** Whether somebody who has not been asked yet may be, among those that `may` names. */
  hasMore(may: (id: UpstreamId) => boolean): boolean {
    const { remotes, call } = this.#walker;
    const candidateOf = (id: UpstreamId) => this.#candidates[this.#ids.indexOf(id)];
    const isAhead = (id: UpstreamId) => candidateOf(id)?.hasMore() ?? true;
    const isLocalAhead = this.#isLocalDeferred || candidateOf('local')?.hasMore() === true;
    return (
      (may('local') && isLocalAhead) ||
      (!call.zeroSpend && remotes.some(({ id }) => may(id) && isAhead(id)))
    );
  }

  /**
   * The next call that need not be made, to one that `may` names. Those whose circuit is not closed are
   * passed by: their turn may still come.
   */
  hedge(may: (id: UpstreamId) => boolean): Dispatch | null {
    return this.next('admitIfClosed', ({ upstream }) => may(upstream));
  }

  /** Whether anybody could still be asked, in turn or although it is out. */
  hasAnybody(): boolean {
    return this.hasMore(() => true) || this.#out().length > 0;
  }

  /**
   * Once nobody else is left: a call to the one that comes back first of those that are out for a while, or
   * of the machines in the local tier that are. Only one is given out, for a lost answer is worth one wait.
   */
  soonest(filter: CallFilter = ANY): Dispatch | null {
    for (const { upstream } of this.#out()) {
      const candidate = upstream === 'local' ? this.#localCandidate() : this.#candidateAt(upstream);
      const admitted = candidate.next('admitForced', filter);
      // Its probe may be out already, for another request.
      if (admitted !== null) return (this.#soonest = this.#stepTo(candidate, admitted));
    }
    return null;
  }

  #out(): readonly Skipped[] {
    if (this.#isEnded || this.#soonest !== null) return [];
    const rest = this.#machines.size === 0 ? [] : this.#localCandidate().outcomes(null);
    return forcibleSoonestFirst([...this.outcomes(null), ...rest]);
  }

  #stepTo(candidate: Candidate, admitted: AdmittedCall): Dispatch {
    if (admitted.call.provider !== null) this.#machines.add(admitted.call.provider);
    return { candidate, admitted };
  }

  failed({ candidate, admitted }: Dispatch, failure: Failure): void {
    candidate.failed(admitted, failure);
    if (failure.fallBack) this.#reportLocalLost(candidate);
    else this.#isEnded = true;
  }

  /** An answer that had begun broke off. */
  broken({ candidate }: Dispatch): void {
    candidate.broken();
    this.#reportLocalLost(candidate);
  }

  /** No more is asked of those before `step`, whose call answers; without one, of nobody. */
  close(dispatch: Dispatch | null): void {
    for (const candidate of this.#candidates) {
      if (candidate === dispatch?.candidate) return;
      candidate.close();
    }
    if (dispatch === null) this.#soonest?.candidate.close();
  }

  /** What was left, in the order of asking, up to the one that answers. */
  outcomes(until: Dispatch | null): readonly UpstreamOutcome[] {
    const end = until === null ? -1 : this.#candidates.indexOf(until.candidate);
    const passed = end === -1 ? this.#candidates : this.#candidates.slice(0, end + 1);
    return passed.flatMap((candidate) => candidate.outcomes(until?.admitted ?? null));
  }

  #reportLocalLost(candidate: Candidate): void {
    if (this.#isLocalReported || this.#isLocalDeferred || candidate.upstream !== 'local') return;
    if (!candidate.isLost()) return;
    this.#isLocalReported = true;
    this.#deps.localLost(candidate.outcomes(null));
  }

  #candidateAt(id: UpstreamId): Candidate {
    if (id === 'local') {
      this.#isLocalDeferred = isLocalTooSlow(this.#walker, this.#deps);
      return this.#isLocalDeferred
        ? new SkippedCandidate(id, 'predicted_slow')
        : this.#localCandidate();
    }
    const { call, remotes, epoch } = this.#walker;
    const upstream = remotes.find((remote) => remote.id === id);
    if (upstream === undefined) return new SkippedCandidate(id, 'not_configured');
    if (call.zeroSpend) return new SkippedCandidate(id, 'zero_spend');
    return new SingleCandidate(remoteCall(call, upstream), this.#deps.circuits, epoch);
  }

  #notAsked(targets: readonly LocalTarget[]): readonly LocalTarget[] {
    // The same list where nobody was asked: what is known of its models goes with it.
    if (this.#machines.size === 0) return targets;
    return targets.filter(({ provider }) => provider === null || !this.#machines.has(provider));
  }

  #localCandidate(): Candidate {
    const { call, config, epoch } = this.#walker;
    const choice = this.#deps.pickLocal();
    switch (choice.kind) {
      case 'none':
        return new SkippedCandidate('local', choice.reason);
      case 'tier':
        return localPoolCandidate(this.#notAsked(choice.targets), this.#walker, this.#deps);
      case 'target':
        return new SingleCandidate(
          localCall(call, choice.target, config, 1),
          this.#deps.circuits,
          epoch,
        );
    }
  }
}
