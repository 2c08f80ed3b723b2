import type { UpstreamId } from '#shared/ids.ts';
import { type Clock, dualTimeOf } from '../../platform/clock.ts';
import { waitMsOf } from '../circuits/breaker.ts';
import type { Failure } from '../upstream/failure.ts';
import type { LocalTarget } from '../upstream/upstreams.ts';
import {
  type CandidateDeps,
  isLocalTooSlow,
  localCandidate,
  orderFor,
  remoteCandidate,
  type RoutedRequest,
  skippedCandidate,
} from './candidates.ts';
import { forcibleSoonestFirst, type UpstreamOutcome } from './outcomes.ts';
import { type AdmissionMode, type CallFilter, type Candidate, Step, type Turn } from './step.ts';

export interface WalkDeps extends CandidateDeps {
  readonly clock: Clock;
}

type WalkState =
  | { readonly kind: 'open' }
  /** The one call to an excluded upstream was admitted; calls in routing order may still follow. */
  | { readonly kind: 'forced'; readonly turn: Turn }
  /** A failure was the request's own fault: no other upstream may be called. */
  | { readonly kind: 'over' };

/** `deferred`: predicted to be slow, so called only if no other upstream serves. */
type LocalState = 'in_turn' | 'deferred' | 'lost';

/** When `local` may be called once more. */
interface LocalReturn {
  /** In clock ticks. */
  readonly at: number;
  /** The machine of the local pool that said so; null for a fixed engine. */
  readonly provider: string | null;
}

const ANY: CallFilter = () => true;

/** A request's way from upstream to upstream: which are called in which order, and what came of it so far. */
export class Walk {
  readonly #request: RoutedRequest;
  readonly #deps: WalkDeps;
  /** Called once, when `local` has failed or was skipped and no call to it is left. */
  readonly #localLost: (outcomes: readonly UpstreamOutcome[]) => void;
  #state: WalkState = { kind: 'open' };
  #local: LocalState;
  /** In routing order, with a deferred `local` moved to the end. */
  #steps: readonly Step[];
  /** How many of them `next` has come to. Those beyond are not reported. */
  #reached = 0;
  readonly #calledMachines = new Set<string>();
  /** When `local` was first called, in clock ticks. */
  #localSince: number | null = null;
  #localSpentMs = 0;
  #localReturn: LocalReturn | null = null;
  #hasReturned = false;
  /** Who refused the request for a reason that nobody can tell. */
  #refusedBy: UpstreamId | null = null;

  constructor(
    request: RoutedRequest,
    deps: WalkDeps,
    localLost: (outcomes: readonly UpstreamOutcome[]) => void,
  ) {
    this.#request = request;
    this.#deps = deps;
    this.#localLost = localLost;
    this.#local = isLocalTooSlow(request, deps) ? 'deferred' : 'in_turn';
    this.#steps = orderFor(request, deps.pickLocal).map((id) =>
      this.#stepOf(this.#candidateAt(id)),
    );
  }

  /** The next call in routing order; null when no upstream admits one. */
  next(mayCall: CallFilter = ANY): Turn | null {
    const turn = this.#take('in_turn', mayCall);
    if (turn !== null || this.#local !== 'deferred' || this.#state.kind === 'over') return turn;
    this.#local = 'in_turn';
    const others = this.#steps.filter(({ upstream }) => upstream !== 'local');
    this.#steps = [...others, this.#stepOf(this.#uncalledLocal())];
    return this.#take('in_turn', mayCall);
  }

  /**
   * The next hedged call, to an upstream that `mayCall` accepts. An upstream whose circuit is not closed
   * is passed over without losing its turn.
   */
  hedge(mayCall: CallFilter): Turn | null {
    return this.#take('hedge', mayCall);
  }

  /**
   * When nobody is left: a forced call to the excluded upstream, or machine of the local pool, whose
   * exclusion ends soonest. One per request, as a lost answer is worth one more wait and not several.
   */
  forceSoonest(mayCall: CallFilter = ANY): Turn | null {
    for (const id of this.#forcible()) {
      const step = this.#stepOf(this.#candidateAt(id));
      const turn = step.next('forced', mayCall);
      // Refused while another request's probe is running there.
      if (turn === null) continue;
      this.#putForced(step);
      this.#state = { kind: 'forced', turn };
      return this.#begun(turn);
    }
    return null;
  }

  /** The upstreams that may still be called in routing order. */
  ahead(): readonly UpstreamId[] {
    if (this.#state.kind === 'over') return [];
    const ahead: UpstreamId[] = this.#local === 'deferred' ? ['local'] : [];
    for (const step of this.#steps) if (step.hasMore()) ahead.push(step.upstream);
    return ahead;
  }

  /** Whether any call is left, in routing order or forced. */
  hasFallback(): boolean {
    return this.ahead().length > 0 || this.#forcible().length > 0;
  }

  failed(turn: Turn, failure: Failure): void {
    const { step, call } = turn;
    step.failed(turn, failure);
    if (step.upstream === 'local') {
      const nowTicks = this.#deps.clock.ticks();
      this.#localSpentMs = nowTicks - (this.#localSince ?? nowTicks);
      this.#localReturn = returnAfter(this.#localReturn, failure, call.provider, nowTicks);
    }
    if (this.#isSettledBy(step.upstream, failure)) this.#state = { kind: 'over' };
    else if (this.returnInMs('before_others') === null) this.#reportLocalLost(step);
  }

  /** The call's answer broke off after its first content. */
  broken(turn: Turn): void {
    turn.step.broken(turn);
    this.#reportLocalLost(turn.step);
  }

  /**
   * How long to wait before `local` is called again, because it refused and said when it has room; null: do not
   * call it again. Once per request, at most `RETRY_AFTER_MAX_MS`, and within the timeout of `local`.
   * `before_others`: others could be called instead. `at_last`: nobody else is left, so a refusal of an earlier
   * request is waited out as well.
   */
  returnInMs(when: 'before_others' | 'at_last'): number | null {
    const { routing, local } = this.#request.config;
    if (this.#hasReturned || this.#state.kind !== 'open') return null;
    if (when === 'before_others' && routing.hedge === 'all') return null;
    const at =
      this.#localReturn?.at ?? (when === 'at_last' ? returnAfterSkip(this.outcomes(null)) : null);
    const isOver = (step: Step) => step.upstream === 'local' && step.isOver();
    if (at === null || !this.#steps.some(isOver)) return null;
    const { circuits, clock } = this.#deps;
    const waitMs = Math.max(0, at - clock.ticks());
    const isInTime = this.#localSpentMs + waitMs < local.timeoutMs;
    const { breaker } = circuits.at(this.#localReturn?.provider ?? 'local');
    const isAdmitted = waitMsOf(breaker, dualTimeOf(clock)) <= waitMs;
    return waitMs <= routing.retryAfterMaxMs && isInTime && isAdmitted ? waitMs : null;
  }

  /** The call to `local` after a wait of `waitedMs`, with what is left of its timeout; null if it is not admitted. */
  returnToLocal(waitedMs: number): Turn | null {
    this.#hasReturned = true;
    const { config } = this.#request;
    const timeoutMs = config.local.timeoutMs - this.#localSpentMs - waitedMs;
    const asked = {
      ...this.#request,
      config: { ...config, local: { ...config.local, timeoutMs } },
    };
    const refused = this.#localReturn?.provider ?? null;
    const isRefused = ({ provider }: LocalTarget) => provider === refused;
    const isEligible = refused === null ? this.#mayCallMachine() : isRefused;
    const step = this.#stepOf(localCandidate(asked, this.#deps, isEligible));
    const turn = step.next('again', ANY);
    if (turn === null) return null;
    // In place of the refusal, and behind those that were called since.
    const others = this.#steps.filter(({ upstream }) => upstream !== 'local');
    const called = others.slice(0, this.#reached - 1);
    this.#steps = [...called, step, ...others.slice(called.length)];
    return this.#begun(turn);
  }

  /** Closes the steps before the one that answers; null: all of them. */
  close(answering: Turn | null): void {
    for (const step of this.#steps.slice(0, this.#reached)) {
      if (step === answering?.step) return;
      step.close();
    }
  }

  /** Outcomes in the order of the walk, up to the call that answers; null: of all steps reached. */
  outcomes(answering: Turn | null): readonly UpstreamOutcome[] {
    // What is forced comes last, wherever its step is.
    const isForced = this.#state.kind === 'forced' && this.#state.turn === answering;
    const end = answering === null || isForced ? -1 : this.#steps.indexOf(answering.step);
    const outcomes: UpstreamOutcome[] = [];
    for (const step of this.#steps.slice(0, end === -1 ? this.#reached : end + 1))
      outcomes.push(...step.outcomes(answering));
    return outcomes;
  }

  #take(mode: AdmissionMode, mayCall: CallFilter): Turn | null {
    if (this.#state.kind === 'over') return null;
    for (const [index, step] of this.#steps.entries()) {
      this.#reached = Math.max(this.#reached, index + 1);
      const turn = step.next(mode, mayCall);
      if (turn !== null) return this.#begun(turn);
      this.#reportLocalLost(step);
    }
    return null;
  }

  #begun(turn: Turn): Turn {
    if (turn.step.upstream === 'local') this.#localSince ??= turn.at;
    if (turn.call.provider !== null) this.#calledMachines.add(turn.call.provider);
    return turn;
  }

  /** In place of the exclusion, or after the machines that were called before. */
  #putForced(forced: Step): void {
    const at = this.#steps.findLastIndex(({ upstream }) => upstream === forced.upstream);
    const isReplaced = this.#steps[at]?.outcomes(null)[0]?.kind === 'skipped';
    const before = this.#steps.slice(0, isReplaced ? at : at + 1);
    const after = this.#steps.slice(at + 1);
    this.#steps = [...before, forced, ...after];
    this.#reached = this.#steps.length;
  }

  /** Whether no other upstream is asked: a refusal that another upstream repeats is the request's own fault. */
  #isSettledBy(upstream: UpstreamId, { fallBack }: Failure): boolean {
    if (fallBack !== 'once') return fallBack === 'never';
    this.#refusedBy ??= upstream;
    return this.#refusedBy !== upstream;
  }

  #reportLocalLost(step: Step): void {
    if (step.upstream !== 'local' || this.#local !== 'in_turn' || !step.isOver()) return;
    this.#local = 'lost';
    this.#localLost(step.outcomes(null));
  }

  /** What a forced call may go to, soonest first: excluded upstreams, and machines that were not called. */
  #forcible(): readonly UpstreamId[] {
    // A refusal is an answer: for a second opinion no excluded upstream is called.
    if (this.#state.kind !== 'open' || this.#refusedBy !== null) return [];
    const outcomes = [...this.outcomes(null)];
    if (this.#calledMachines.size > 0) {
      const local = this.#uncalledLocal();
      if (local.kind === 'pool') outcomes.push(local.pool.exclusion());
    }
    return forcibleSoonestFirst(outcomes).map(({ upstream }) => upstream);
  }

  #uncalledLocal(): Candidate {
    return localCandidate(this.#request, this.#deps, this.#mayCallMachine());
  }

  /** Null: all of them. */
  #mayCallMachine(): ((target: LocalTarget) => boolean) | null {
    if (this.#calledMachines.size === 0) return null;
    return ({ provider }) => provider === null || !this.#calledMachines.has(provider);
  }

  #candidateAt(id: UpstreamId): Candidate {
    if (id !== 'local') return remoteCandidate(id, this.#request, this.#deps);
    if (this.#local === 'deferred') return skippedCandidate(id, 'predicted_slow');
    return this.#uncalledLocal();
  }

  #stepOf(candidate: Candidate): Step {
    return new Step(candidate, this.#deps.circuits, this.#request.epoch);
  }
}

/** The earlier of what is known and what a failure of `local` says. */
function returnAfter(
  known: LocalReturn | null,
  { reason, retryAfterMs }: Pick<Failure, 'reason' | 'retryAfterMs'>,
  provider: string | null,
  nowTicks: number,
): LocalReturn | null {
  const isFull = reason === 'rate_limited' || reason === 'busy';
  if (!isFull || retryAfterMs === null) return known;
  const at = nowTicks + retryAfterMs;
  return known === null || at < known.at ? { at, provider } : known;
}

/** When a `local` that was not called, because of what it told an earlier request, may be called; null: unknown. */
function returnAfterSkip(outcomes: readonly UpstreamOutcome[]): number | null {
  const local = outcomes.find(({ upstream }) => upstream === 'local');
  return local?.kind === 'skipped' && local.reason === 'rate_limited' ? local.backAtTicks : null;
}
