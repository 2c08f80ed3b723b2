import type { UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config/schema.ts';
import { type Clock, dualTimeOf } from '../../platform/clock.ts';
import { waitMsOf } from '../circuits/breaker.ts';
import { type ChatCall, localCall, remoteCall } from '../upstream/call.ts';
import type { Failure } from '../upstream/failure.ts';
import type { LocalTarget, RemoteUpstream } from '../upstream/upstreams.ts';
import {
  ANY,
  type AdmissionMode,
  type AdmittedCall,
  type CallFilter,
  type Candidate,
  type Dispatch,
  NOT_CONFIGURED,
  SingleCandidate,
  SkippedCandidate,
} from './candidate.ts';
import { forcibleSoonestFirst, type Skipped, type UpstreamOutcome } from './fallback-reasons.ts';
import type { BalancingDeps } from './local-balancing.ts';
import { LocalPoolCandidate } from './local-pool.ts';
import { type LocalReturn, returnAfter, returnAfterSkip } from './retry-policy.ts';
import { isLocalTooSlow, type PredictedSlowDeps } from './hedge-policy.ts';
import type { EndpointSupport } from './upstream-support.ts';
import { formForLocal, formForRemote, isForAll, poolUnsuitable, orderFor } from './suitability.ts';

export interface FallbackPlanDeps extends BalancingDeps, PredictedSlowDeps {
  readonly clock: Clock;
  readonly support: EndpointSupport;
  /** Budgets of money: an upstream whose budget is used up is not called. */
  readonly budgets: { readonly isSpent: (id: UpstreamId, config: Config) => boolean };
  /** Called once, when `local` has failed or was skipped and no call to it is left. */
  readonly localLost: (outcomes: readonly UpstreamOutcome[]) => void;
}

export interface RoutedRequest {
  readonly call: ChatCall;
  readonly config: Config;
  readonly remotes: readonly RemoteUpstream[];
  /** The circuits' epoch at the moment when `config` and `remotes` were read. */
  readonly epoch: number;
}

/** Which calls a plan still gives out. */
type PlanState =
  | { readonly kind: 'open' }
  /** The one call to an excluded upstream was admitted; calls in routing order may still follow. */
  | { readonly kind: 'forced'; readonly dispatch: Dispatch }
  /** A failure was the request's own fault: no other upstream may be called. */
  | { readonly kind: 'ended' };

/** `deferred`: predicted to be slow, so called only if no other upstream serves. */
type LocalState = 'in_turn' | 'deferred' | 'lost';

/** The upstreams of one request in the order in which they are called, and the outcomes so far. */
export class FallbackPlan {
  readonly #request: RoutedRequest;
  readonly #deps: FallbackPlanDeps;
  #state: PlanState = { kind: 'open' };
  #local: LocalState;
  /** In routing order, with a deferred `local` moved to the end. */
  #candidates: readonly Candidate[];
  /** How many of them `next` has come to. Those beyond are not reported. */
  #reached = 0;
  /** Machines of the local pool that were called. */
  readonly #calledMachines = new Set<string>();
  /** When `local` was first called, in clock ticks. */
  #localSince: number | null = null;
  #localSpentMs = 0;
  #localReturn: LocalReturn | null = null;
  /** Who refused the request for a reason that nobody can tell. */
  #refusedBy: UpstreamId | null = null;
  #hasReturned = false;

  constructor(request: RoutedRequest, deps: FallbackPlanDeps) {
    this.#request = request;
    this.#deps = deps;
    this.#local = isLocalTooSlow(request, deps) ? 'deferred' : 'in_turn';
    const asked = { request: request.call.request, config: request.config };
    this.#candidates = orderFor(asked, request.remotes, deps.pickLocal).map((id) =>
      id === 'local' && this.#local === 'deferred'
        ? new SkippedCandidate(id, 'predicted_slow')
        : this.#candidateAt(id),
    );
  }

  /** The next call in routing order; null when no candidate admits one. */
  next(mode: AdmissionMode = 'admit', filter: CallFilter = ANY): Dispatch | null {
    if (this.#state.kind === 'ended') return null;
    for (const [index, candidate] of this.#candidates.entries()) {
      this.#reached = Math.max(this.#reached, index + 1);
      const admitted = candidate.next(mode, filter);
      if (admitted !== null) return this.#dispatch(candidate, admitted);
      this.#reportLocalLost(candidate);
    }
    if (this.#local !== 'deferred' || mode !== 'admit') return null;
    this.#retryDeferredLocal();
    return this.next(mode, filter);
  }

  /**
   * The next hedged call, to an upstream that `mayCall` accepts. An upstream whose circuit is not closed
   * is passed over without losing its turn.
   */
  hedge(mayCall: (id: UpstreamId) => boolean): Dispatch | null {
    return this.next('admitIfClosed', ({ upstream }) => mayCall(upstream));
  }

  /**
   * When no candidate is left: a forced call to the excluded upstream, or machine of the local pool, whose
   * exclusion ends soonest. One per request, as a lost answer is worth one more wait and not several.
   */
  forceSoonest(filter: CallFilter = ANY): Dispatch | null {
    for (const { upstream } of this.#forcible()) {
      const candidate = this.#candidateAt(upstream);
      const admitted = candidate.next('admitForced', filter);
      // Refused while another request's probe is running there.
      if (admitted === null) continue;
      const dispatch = this.#dispatch(candidate, admitted);
      this.#state = { kind: 'forced', dispatch };
      return dispatch;
    }
    return null;
  }

  /** The upstreams that may still be called in routing order. */
  ahead(): readonly UpstreamId[] {
    if (this.#state.kind === 'ended') return [];
    const ahead: UpstreamId[] = this.#local === 'deferred' ? ['local'] : [];
    for (const candidate of this.#candidates)
      if (candidate.hasMore()) ahead.push(candidate.upstream);
    return ahead;
  }

  /** Whether any call is left, in routing order or forced. */
  hasFallback(): boolean {
    return this.ahead().length > 0 || this.#forcible().length > 0;
  }

  failed({ candidate, admitted }: Dispatch, failure: Failure): void {
    candidate.failed(admitted, failure);
    if (candidate.upstream === 'local') this.#localFailed(admitted, failure);
    if (this.#isSettled(candidate.upstream, failure)) this.#state = { kind: 'ended' };
    else if (this.returnInMs('before_others') === null) this.#reportLocalLost(candidate);
  }

  /** Whether no other upstream is asked: a refusal that another upstream repeats is the request's own fault. */
  #isSettled(upstream: UpstreamId, { fallBack }: Failure): boolean {
    if (fallBack !== 'once') return fallBack === 'never';
    this.#refusedBy ??= upstream;
    return this.#refusedBy !== upstream;
  }

  /**
   * How long to wait before `local` is called again, because it refused and said when it has room; null: do not
   * call it again. Once per request, at most `RETRY_AFTER_MAX_MS`, and within the time-out of `local`.
   * `before_others`: others could be called instead. `at_last`: nobody else is left, so a refusal of an earlier
   * request is waited out as well.
   */
  returnInMs(when: 'before_others' | 'at_last'): number | null {
    const { routing, local } = this.#request.config;
    if (this.#hasReturned || this.#state.kind !== 'open') return null;
    if (when === 'before_others' && routing.hedge === 'all') return null;
    const at =
      this.#localReturn?.at ?? (when === 'at_last' ? returnAfterSkip(this.outcomes(null)) : null);
    const isLost = (each: Candidate) => each.upstream === 'local' && each.isLost();
    if (at === null || !this.#candidates.some(isLost)) return null;
    const { circuits, clock } = this.#deps;
    const waitMs = Math.max(0, at - clock.ticks());
    const isInTime = this.#localSpentMs + waitMs < local.timeoutMs;
    const { breaker } = circuits.at(this.#localReturn?.provider ?? 'local');
    const isAdmitted = waitMsOf(breaker, dualTimeOf(clock)) <= waitMs;
    return waitMs <= routing.retryAfterMaxMs && isInTime && isAdmitted ? waitMs : null;
  }

  /** The call to `local` after a wait of `waitedMs`, with what is left of its time-out; null if it is not admitted. */
  returnToLocal(waitedMs: number): Dispatch | null {
    this.#hasReturned = true;
    const { config } = this.#request;
    const timeoutMs = config.local.timeoutMs - this.#localSpentMs - waitedMs;
    const request = {
      ...this.#request,
      config: { ...config, local: { ...config.local, timeoutMs } },
    };
    const candidate = this.#localCandidate(request, this.#localReturn?.provider ?? null);
    const admitted = candidate.next('admitRetry', ANY);
    if (admitted === null) return null;
    // In place of the refusal, and behind those that were called since.
    const others = this.#candidates.filter(({ upstream }) => upstream !== 'local');
    const called = others.slice(0, this.#reached - 1);
    this.#candidates = [...called, candidate, ...others.slice(called.length)];
    return this.#dispatch(candidate, admitted);
  }

  /** The call's answer broke off after its first content. */
  broken({ candidate, admitted }: Dispatch): void {
    candidate.broken(admitted);
    this.#reportLocalLost(candidate);
  }

  /** Closes the candidates before the one that answers; null: all of them. */
  close(answering: Dispatch | null): void {
    for (const candidate of this.#candidates.slice(0, this.#reached)) {
      if (candidate === answering?.candidate) return;
      candidate.close();
    }
    if (answering === null && this.#state.kind === 'forced') this.#state.dispatch.candidate.close();
  }

  /** Outcomes in the order of the plan, up to the call that answers; null: of all candidates reached. */
  outcomes(answering: Dispatch | null): readonly UpstreamOutcome[] {
    const end = answering === null ? -1 : this.#candidates.indexOf(answering.candidate);
    const outcomes: UpstreamOutcome[] = [];
    for (const candidate of this.#candidates.slice(0, end === -1 ? this.#reached : end + 1))
      outcomes.push(...candidate.outcomes(answering?.admitted ?? null));
    return outcomes;
  }

  #dispatch(candidate: Candidate, admitted: AdmittedCall): Dispatch {
    if (candidate.upstream === 'local') this.#localSince ??= admitted.at;
    if (admitted.call.provider !== null) this.#calledMachines.add(admitted.call.provider);
    return { candidate, admitted };
  }

  #localFailed({ call: { provider } }: AdmittedCall, failure: Failure): void {
    const nowTicks = this.#deps.clock.ticks();
    this.#localSpentMs = nowTicks - (this.#localSince ?? nowTicks);
    this.#localReturn = returnAfter(this.#localReturn, failure, { provider, nowTicks });
  }

  #reportLocalLost(candidate: Candidate): void {
    if (candidate.upstream !== 'local' || this.#local !== 'in_turn' || !candidate.isLost()) return;
    this.#local = 'lost';
    this.#deps.localLost(candidate.outcomes(null));
  }

  #retryDeferredLocal(): void {
    this.#local = 'in_turn';
    const others = this.#candidates.filter(({ upstream }) => upstream !== 'local');
    this.#candidates = [...others, this.#localCandidate()];
  }

  /** What a forced call may go to: excluded upstreams, and machines of the pool that were not called. */
  #forcible(): readonly Skipped[] {
    // A refusal is an answer: for a second opinion no excluded upstream is called.
    if (this.#state.kind !== 'open' || this.#refusedBy !== null) return [];
    const machines = this.#calledMachines.size === 0 ? [] : this.#localCandidate().outcomes(null);
    return forcibleSoonestFirst([...this.outcomes(null), ...machines]);
  }

  #candidateAt(id: UpstreamId): Candidate {
    if (id === 'local') return this.#localCandidate();
    const { call, config, remotes, epoch } = this.#request;
    const { circuits, budgets } = this.#deps;
    const upstream = remotes.find((remote) => remote.id === id);
    if (upstream === undefined) return NOT_CONFIGURED[id];
    if (call.zeroSpend) return new SkippedCandidate(id, 'zero_spend');
    if (budgets.isSpent(id, config)) return new SkippedCandidate(id, 'budget');
    const form = formForRemote(this.#suitability(), upstream);
    if (typeof form === 'string') return new SkippedCandidate(id, form);
    return new SingleCandidate(id, () => remoteCall(form, upstream), { circuits, epoch });
  }

  /** `only`: the one machine to be called, also if it was called already. */
  #localCandidate(request = this.#request, only: string | null = null): Candidate {
    const { config, epoch } = request;
    const choice = this.#deps.pickLocal();
    switch (choice.kind) {
      case 'none':
        return new SkippedCandidate('local', choice.reason, choice.causes);
      case 'tier': {
        const unsuitable = poolUnsuitable(this.#suitability(), choice.targets);
        if (unsuitable !== null) return new SkippedCandidate('local', unsuitable);
        const targets = this.#callable(choice.targets, only);
        return new LocalPoolCandidate(targets, { ...request, formAt: this.#formAt }, this.#deps);
      }
      case 'target': {
        const form = formForLocal(this.#suitability(), choice.target);
        if (typeof form === 'string') return new SkippedCandidate('local', form);
        return new SingleCandidate('local', () => localCall(form, choice.target, config, 1), {
          circuits: this.#deps.circuits,
          epoch,
        });
      }
    }
  }

  #suitability() {
    const { call, config } = this.#request;
    return { call, config, support: this.#deps.support };
  }

  readonly #formAt = (target: LocalTarget): ChatCall => {
    const form = formForLocal(this.#suitability(), target);
    return typeof form === 'string' ? this.#request.call : form;
  };

  #callable(targets: readonly LocalTarget[], only: string | null): readonly LocalTarget[] {
    if (only !== null) return targets.filter(({ provider }) => provider === only);
    const suitability = this.#suitability();
    // The same array where none is left out: the index of its models is kept by the array.
    if (this.#calledMachines.size === 0 && isForAll(suitability)) return targets;
    return targets.filter(
      (target) =>
        (target.provider === null || !this.#calledMachines.has(target.provider)) &&
        typeof formForLocal(suitability, target) === 'object',
    );
  }
}
