import type { UpstreamId } from '#shared/ids.ts';
import { type Clock, dualTimeOf } from '../../platform/clock.ts';
import { NEUTRAL, type Result, waitMsOf } from '../circuits/breaker.ts';
import type { AdmissionMode, Circuits, HeldPermit } from '../circuits/circuits.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { Failure } from '../upstream/failure.ts';
import type { LocalTarget } from '../upstream/upstreams.ts';
import type { Attempt, Permits } from './attempt.ts';
import {
  type Candidate,
  type CandidateDeps,
  candidatesFor,
  localCandidate,
  remoteCandidate,
  type RoutedRequest,
} from './candidates.ts';
import { type Callable, type CallablePool, skipped } from './local-pool.ts';
import {
  type Failed,
  forcibleSoonestFirst,
  type HedgeLost,
  type LocalReturn,
  returnAfter,
  returnAfterSkip,
  type Skipped,
  type UpstreamOutcome,
} from './outcomes.ts';

export interface WalkDeps extends CandidateDeps {
  readonly clock: Clock;
}

type WalkState =
  | { readonly kind: 'open' }
  /** The one call to an excluded upstream was admitted; calls in routing order may still follow. */
  | { readonly kind: 'forced'; readonly turn: Turn }
  /** A failure was the request's own fault: no other upstream may be called. */
  | { readonly kind: 'over' };

/** Which calls are acceptable; those that are not keep their turn. */
export type CallFilter = (call: UpstreamCall) => boolean;

const ANY: CallFilter = () => true;

/** A request's way from upstream to upstream: which are called in which order, and what came of it so far. */
export class Walk {
  readonly #request: RoutedRequest;
  readonly #deps: WalkDeps;
  /** Called once, when `local` has failed or was skipped and no call to it is left. */
  readonly #localLost: (outcomes: readonly UpstreamOutcome[]) => void;
  #state: WalkState = { kind: 'open' };
  #isLocalLost = false;
  /** In routing order. */
  #steps: readonly Step[];
  /** How many of them `next` has come to. Those beyond are not reported. */
  #reached = 0;
  readonly #calledMachines: string[] = [];
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
    this.#steps = candidatesFor(request, deps).map((candidate) => this.#stepOf(candidate));
  }

  /** The next call in routing order; null when no upstream admits one. */
  next(mayCall: CallFilter = ANY): Turn | null {
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
      const step = this.#stepOf(
        id === 'local' ? this.#uncalledLocal() : remoteCandidate(id, this.#request, this.#deps),
      );
      const turn = step.next('forced', mayCall);
      // Refused while another request's probe is running there.
      if (turn === null) continue;
      this.#putForced(step);
      this.#state = { kind: 'forced', turn };
      return this.#begun(turn);
    }
    return null;
  }

  ahead(): readonly UpstreamId[] {
    if (this.#state.kind === 'over') return [];
    return this.#steps.filter((step) => step.hasMore()).map(({ upstream }) => upstream);
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
    const isEligible = refused === null ? this.#isUncalled : isRefused;
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
    let index = 0;
    for (const step of this.#steps) {
      index += 1;
      this.#reached = Math.max(this.#reached, index);
      const turn = step.next(mode, mayCall);
      if (turn !== null) return this.#begun(turn);
      this.#reportLocalLost(step);
    }
    return null;
  }

  #begun(turn: Turn): Turn {
    if (turn.step.upstream === 'local') this.#localSince ??= turn.at;
    if (turn.call.provider !== null) this.#calledMachines.push(turn.call.provider);
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
    if (step.upstream !== 'local' || this.#isLocalLost || !step.isOver()) return;
    this.#isLocalLost = true;
    this.#localLost(step.outcomes(null));
  }

  /** What a forced call may go to, soonest first: excluded upstreams, and machines that were not called. */
  #forcible(): readonly UpstreamId[] {
    // A refusal is an answer: for a second opinion no excluded upstream is called.
    if (this.#state.kind !== 'open' || this.#refusedBy !== null) return [];
    const outcomes = [...this.outcomes(null)];
    if (this.#calledMachines.length > 0) {
      const local = this.#uncalledLocal();
      if (local.kind === 'pool') outcomes.push(local.pool.exclusion());
    }
    return forcibleSoonestFirst(outcomes).map(({ upstream }) => upstream);
  }

  #uncalledLocal(): Candidate {
    return localCandidate(this.#request, this.#deps, this.#isUncalled);
  }

  readonly #isUncalled = ({ provider }: LocalTarget): boolean =>
    provider === null || !this.#calledMachines.includes(provider);

  #stepOf(candidate: Candidate): Step {
    return new Step(candidate, this.#deps.circuits, this.#request.epoch);
  }
}

/** A call that a circuit admitted; with its retries and polls one turn of its upstream. */
export class Turn {
  readonly step: Step;
  readonly call: UpstreamCall;
  /** When it was admitted, in clock ticks. */
  at: number;
  permits: Permits;
  /** Its last attempt; null until it was sent. */
  attempt: Attempt | null = null;

  constructor(step: Step, call: UpstreamCall, permits: Permits, at: number) {
    this.step = step;
    this.call = call;
    this.permits = permits;
    this.at = at;
  }

  /** The attempt that a further sending belongs to; null if there is none that has not ended. */
  openAttempt(): Attempt | null {
    return this.attempt?.hasEnded === false ? this.attempt : null;
  }

  /** Asks the circuit for one more try, with this call. */
  readmit(call: UpstreamCall, circuits: Circuits, epoch: number): boolean {
    const { id } = this.permits.own;
    const admission = circuits.admit(id, call, epoch, 'again');
    if (admission.kind === 'excluded') return false;
    this.at = admission.at;
    this.permits = { ...this.permits, own: { id, permit: admission.permit } };
    return true;
  }
}

interface Taken {
  readonly turn: Turn;
  outcome: 'running' | 'broken' | Failed | HedgeLost;
}

/** Shared: most steps of most walks are never called. */
const NONE: readonly never[] = [];

/** `ahead`: its turn has not come; `entered`: its circuit was asked; `passed`: it never will be. */
type StepState = 'ahead' | 'entered' | 'passed';

interface PoolPermit {
  readonly permit: HeldPermit;
  /** The pool's circuit has the result, or will get it from the answer. */
  isRecorded: boolean;
}

/**
 * One upstream in the walk of a request: a hosted one or a fixed engine takes one call, the local pool several in
 * turn. There the circuit of `local` counts the pool, each machine's own circuit counts the machine.
 */
export class Step {
  readonly candidate: Candidate;
  readonly upstream: UpstreamId;
  readonly #circuits: Circuits;
  readonly #epoch: number;
  #state: StepState = 'ahead';
  /** What may still be called; of a pool unknown until its turn has come. */
  #callables: readonly Callable[];
  #taken: readonly Taken[] = NONE;
  #poolPermit: PoolPermit | null = null;
  /** Why its own circuit did not admit. */
  #exclusion: Skipped | null = null;

  constructor(candidate: Candidate, circuits: Circuits, epoch: number) {
    this.candidate = candidate;
    this.upstream = candidate.upstream;
    this.#circuits = circuits;
    this.#epoch = epoch;
    this.#callables = candidate.kind === 'single' ? [candidate.callable] : NONE;
    if (candidate.kind === 'skipped') {
      this.#state = 'passed';
      this.#exclusion = candidate.outcome;
    }
  }

  /** Admits the next call; null when there is none, at all or in this mode. Each turn is ended once. */
  next(mode: AdmissionMode, mayCall: CallFilter): Turn | null {
    if (this.#state === 'passed') return null;
    if (this.candidate.kind === 'pool' && this.#state === 'ahead') {
      if (mode === 'hedge') return null;
      this.#enterPool(this.candidate.pool, mode);
    }
    for (const callable of this.#callables) {
      const call = callable.call();
      if (!mayCall(call)) continue;
      const turn = this.#admitted(callable, call, mode);
      if (turn !== null) return turn;
    }
    this.#recordIfOver();
    return null;
  }

  /** Whether a call may still be admitted, as far as it is known without trying. */
  hasMore(): boolean {
    return this.#state === 'ahead' || this.#callables.length > 0;
  }

  failed(turn: Turn, failure: Failure): void {
    const { provider } = turn.call;
    this.#end(turn, { kind: 'failed', upstream: this.upstream, provider, failure });
    this.#recordIfOver();
  }

  /** Another call's content came first. The call that won decides what the pool's result is. */
  outrun(turn: Turn): void {
    turn.attempt?.end({ kind: 'outrun' });
    const { provider } = turn.call;
    this.#end(turn, { kind: 'hedge_lost', upstream: this.upstream, provider });
  }

  /** The call's answer broke off after its first content; its attempt has recorded that for the pool as well. */
  broken(turn: Turn): void {
    this.#end(turn, 'broken');
    if (this.#poolPermit !== null) this.#poolPermit.isRecorded = true;
  }

  /** No further call will be admitted; calls that still run end without a verdict. */
  close(): void {
    if (this.#state === 'ahead') this.#state = 'passed';
    this.#callables = NONE;
    if (this.isOver()) {
      this.#recordIfOver();
      return;
    }
    for (const { turn, outcome } of this.#taken)
      if (outcome === 'running') turn.attempt?.end({ kind: 'cancelled' });
    this.#record(NEUTRAL);
  }

  /** No call is running, and none will be admitted. */
  isOver(): boolean {
    return !this.hasMore() && !this.#taken.some(({ outcome }) => outcome === 'running');
  }

  /** Outcomes of the turns before `until`, in order; null: of all. */
  outcomes(until: Turn | null): readonly UpstreamOutcome[] {
    if (this.#taken.length > 0) {
      const end = this.#taken.findIndex(({ turn }) => turn === until);
      return ended(end === -1 ? this.#taken : this.#taken.slice(0, end));
    }
    if (this.#exclusion !== null) return [this.#exclusion];
    const isUncalledPool = this.candidate.kind === 'pool' && this.#state === 'entered';
    return isUncalledPool ? [this.candidate.pool.exclusion()] : [];
  }

  #enterPool(pool: CallablePool, mode: AdmissionMode): void {
    this.#state = 'entered';
    const callables = pool.callables(mode);
    if (callables.length === 0) return;
    const asked = { model: '', timeoutMs: pool.timeoutMs };
    const admission = this.#circuits.admit('local', asked, this.#epoch, mode);
    if (admission.kind === 'excluded') {
      this.#exclusion = skipped(this.upstream, admission);
      return;
    }
    this.#callables = callables;
    this.#poolPermit = { permit: { id: 'local', permit: admission.permit }, isRecorded: false };
  }

  #admitted(callable: Callable, call: UpstreamCall, mode: AdmissionMode): Turn | null {
    const { id } = callable;
    const admission = this.#circuits.admit(id, call, this.#epoch, mode);
    // A hedged call that is refused leaves the upstream's own turn as it was.
    if (admission.kind === 'excluded' && mode === 'hedge') return null;
    this.#state = 'entered';
    this.#callables = this.#callables.filter((each) => each !== callable);
    if (admission.kind === 'excluded') {
      if (this.candidate.kind === 'single') this.#exclusion = skipped(this.upstream, admission);
      return null;
    }
    // Only one excluded machine is forced: the first one without another request's probe.
    if (mode === 'forced') this.#callables = NONE;
    const own = { id, permit: admission.permit };
    const pool = this.#poolPermit?.permit ?? null;
    const turn = new Turn(this, call, { own, pool }, admission.at);
    this.#taken = this.#taken.concat({ turn, outcome: 'running' });
    return turn;
  }

  #end(over: Turn, outcome: Taken['outcome']): void {
    const taken = this.#taken.find(({ turn }) => turn === over);
    if (taken !== undefined) taken.outcome = outcome;
  }

  #recordIfOver(): void {
    if (this.candidate.kind !== 'pool' || this.#poolPermit === null || !this.isOver()) return;
    this.#record(this.candidate.pool.result(ended(this.#taken)));
  }

  #record(result: Result): void {
    const held = this.#poolPermit;
    if (held === null || held.isRecorded) return;
    held.isRecorded = true;
    this.#circuits.record(held.permit.id, held.permit.permit, result);
  }
}

function ended(taken: readonly Taken[]): (Failed | HedgeLost)[] {
  return taken
    .map(({ outcome }) => outcome)
    .filter((outcome) => outcome !== 'running' && outcome !== 'broken');
}
