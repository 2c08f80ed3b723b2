import type { UpstreamId } from '#shared/ids.ts';
import { type AdmissionMode, NEUTRAL, type Result } from '../circuits/breaker.ts';
import type { CircuitPermit } from '../circuits/circuits.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { Failure } from '../upstream/failure.ts';
import type { Attempt, Permits } from './attempt.ts';
import {
  type Candidate,
  type CandidateDeps,
  candidatesFor,
  type RoutedRequest,
} from './candidates.ts';
import type { LocalPool } from './local-pool.ts';
import {
  forcibleSoonestFirst,
  hasRefusal,
  isSettled,
  type LostCall,
  type Skip,
  skipped,
  type UpstreamOutcome,
} from './outcomes.ts';

/** Which calls are acceptable; those that are not keep their turn. */
type CallFilter = (call: UpstreamCall) => boolean;

const ANY: CallFilter = () => true;

/** A call that a circuit admitted; with its retries and polls one turn of its upstream. */
export interface Turn {
  readonly call: UpstreamCall;
  readonly mode: AdmissionMode;
  /** When it was admitted, in clock ticks. */
  readonly at: number;
  readonly permits: Permits;
  /** How long it waits before it is called; null: not at all. */
  readonly waitMs: number | null;
  /** Its last attempt; null until it was sent. */
  attempt: Attempt | null;
}

interface Step {
  readonly candidate: Candidate;
  /** Its place in routing order; the machines of the local pool share theirs. */
  readonly place: number;
  /** The permit of the local pool, for a machine of it. */
  readonly pool: CircuitPermit | null;
  /** `over`: it was passed over or entered, its call has failed, or its answer has broken off. */
  readonly state: 'ahead' | 'running' | 'over';
  /** Null if it was passed over, and while it is ahead. */
  readonly turn: Turn | null;
  /** Null before its end, and if it answered. */
  readonly outcome: UpstreamOutcome | null;
}

/**
 * A request's way from upstream to upstream: who is called next, and what came of those before. A hosted upstream or a
 * fixed engine is one candidate; the local pool becomes one candidate for each machine when its turn comes.
 */
export class Walk {
  readonly #request: RoutedRequest;
  readonly #deps: CandidateDeps;
  /** Called each time that the last possible call to `local` has failed, or was not admitted. */
  readonly #localLost: (outcomes: readonly UpstreamOutcome[]) => void;
  /** The steps ahead in routing order, and the others in the order in which their turn came. */
  #steps: readonly Step[];
  /** The local pool that was entered, while its circuit waits for the result. */
  #pool: { readonly pool: LocalPool; readonly permit: CircuitPermit } | null = null;

  constructor(
    request: RoutedRequest,
    deps: CandidateDeps,
    localLost: (outcomes: readonly UpstreamOutcome[]) => void,
  ) {
    this.#request = request;
    this.#deps = deps;
    this.#localLost = localLost;
    this.#steps = candidatesFor(request, deps).map((candidate, place) => {
      return { candidate, place, pool: null, state: 'ahead', turn: null, outcome: null };
    });
  }

  /**
   * The next call in routing order that is acceptable; null when no upstream admits one. As a `hedge`, an upstream whose
   * circuit is not closed is passed over without losing its turn.
   */
  next(mayCall: CallFilter = ANY, mode: 'in_turn' | 'hedge' = 'in_turn'): Turn | null {
    return this.#first(this.#ahead(), mode, mayCall);
  }

  /**
   * When nobody is left: a call to the excluded upstream, or machine of the local pool, whose exclusion ends
   * soonest. One per request, as a lost answer is worth one more wait and not several.
   */
  force(mayCall: CallFilter = ANY): Turn | null {
    // One is not admitted while another request's probe is running there.
    const turn = this.#first(this.#forcible(), 'forced', mayCall);
    if (turn === null) this.close();
    return turn;
  }

  /** Upstreams whose turn may still come. */
  ahead(): readonly UpstreamId[] {
    const callable = this.#ahead().filter(({ candidate }) => candidate.kind !== 'skipped');
    return callable.map(({ candidate }) => candidate.upstream);
  }

  /** Whether any call is left, in routing order or forced. */
  hasFallback(): boolean {
    return this.ahead().length > 0 || this.#forcible().length > 0;
  }

  failed(turn: Turn, failure: Failure): void {
    const { upstream, provider } = turn.call;
    this.#end(turn, { kind: 'failed', upstream, provider, failure });
    this.#settle(upstream);
  }

  /** Another call's content came first. The call that won decides what the pool's result is. */
  outrun(turn: Turn): void {
    const { upstream, provider } = turn.call;
    turn.attempt?.end({ kind: 'outrun' });
    this.#end(turn, { kind: 'hedge_lost', upstream, provider });
  }

  /** Its attempt tells the pool's circuit how the answer ends. */
  answered(turn: Turn): void {
    if (this.#pool?.permit === turn.permits.pool) this.#pool = null;
    this.close();
  }

  /** The call's answer broke off after its first content. */
  broken(turn: Turn): void {
    this.#end(turn, null);
    this.#settle(turn.call.upstream);
  }

  /** No further machine of the pool will be called. */
  close(result: Result = NEUTRAL): void {
    const permit = this.#pool?.permit;
    this.#pool = null;
    if (permit !== undefined) this.#deps.circuits.record(permit, result);
  }

  /** The outcomes, in routing order, before the call that answers; with null, of all whose turn came. */
  outcomes(answering: Turn | null): readonly UpstreamOutcome[] {
    // Most requests call the first upstream alone.
    if (outcomesOf(this.#steps).length === 0) return [];
    const called = this.#steps.flatMap(({ turn }) => turn?.call.upstream ?? []);
    // A call stands in place of an exclusion.
    const shown = this.#steps
      .filter(({ turn, candidate }) => turn !== null || !called.includes(candidate.upstream))
      .toSorted((a, b) => a.place - b.place);
    // What is forced comes last, whatever its place.
    const isLast = answering === null || answering.mode === 'forced';
    const end = isLast ? shown.length : shown.findIndex(({ turn }) => turn === answering);
    return outcomesOf(shown.slice(0, end));
  }

  #ahead(): readonly Step[] {
    return isSettled(outcomesOf(this.#steps))
      ? []
      : this.#steps.filter(({ state }) => state === 'ahead');
  }

  #first(steps: readonly Step[], mode: AdmissionMode, mayCall: CallFilter): Turn | null {
    for (const step of steps) {
      const turn = this.#enter(step, mode, mayCall);
      if (turn !== null) return turn;
    }
    return null;
  }

  /** Asks a candidate's circuits for a call; null if they admit none, or if it keeps its turn. */
  #enter(step: Step, mode: AdmissionMode, mayCall: CallFilter): Turn | null {
    const { candidate, pool } = step;
    if (candidate.kind === 'skipped') return this.#passOver(step, candidate);
    if (candidate.kind === 'pool') return this.#enterPool(candidate.pool, step, mode, mayCall);
    const call = candidate.call();
    if (!mayCall(call)) return null;
    const { id, upstream } = candidate;
    const { circuits } = this.#deps;
    const excluded = mode === 'forced' ? circuits.exclusionOf(id, call.model) : null;
    const admission = circuits.admit(id, call, this.#request.epoch, mode);
    if (admission.kind === 'excluded')
      return mode === 'hedge' ? null : this.#passOver(step, skipped(upstream, admission));
    const { permit: own, at } = admission;
    const waitMs = excluded?.reason === 'rate_limited' ? excluded.waitMs : null;
    const turn: Turn = { call, mode, at, permits: { own, pool }, waitMs, attempt: null };
    this.#leave(step, { ...step, state: 'running', turn, outcome: null });
    return turn;
  }

  #enterPool(pool: LocalPool, step: Step, mode: AdmissionMode, mayCall: CallFilter): Turn | null {
    if (mode === 'hedge') return null;
    const machines = pool.machines(mode);
    if (machines.length === 0) return this.#passOver(step, pool.exclusion());
    const request = { model: '', timeoutMs: this.#request.config.local.timeoutMs };
    const admission = this.#deps.circuits.admit('local', request, this.#request.epoch, mode);
    if (admission.kind === 'excluded') return this.#passOver(step, skipped('local', admission));
    const { permit } = admission;
    this.#pool = { pool, permit };
    const steps = machines.map((candidate): Step => ({ ...step, candidate, pool: permit }));
    const entered = { ...step, state: 'over' } as const;
    this.#steps = this.#steps.flatMap((each) => (each === step ? [entered, ...steps] : each));
    const turn = this.#first(steps, mode, mayCall);
    if (turn === null) this.close();
    return turn;
  }

  /** What is forced was passed over before. */
  #passOver(step: Step, outcome: Skip): null {
    if (step.state !== 'ahead') return null;
    this.#leave(step, { ...step, state: 'over', outcome });
    this.#settle(outcome.upstream);
    return null;
  }

  #leave(step: Step, next: Step): void {
    this.#steps = [...this.#steps.filter((each) => each !== step), next];
  }

  #end(turn: Turn, outcome: LostCall | null): void {
    this.#steps = this.#steps.map((step) =>
      step.turn === turn ? { ...step, state: 'over', outcome } : step,
    );
  }

  /** Runs after each call that ended or was not admitted, because `local` may be lost. */
  #settle(upstream: UpstreamId): void {
    if (upstream !== 'local') return;
    const steps = this.#steps.filter(({ candidate }) => candidate.upstream === 'local');
    if (steps.some(({ state }) => state !== 'over')) return;
    if (this.#pool !== null) {
      const { pool, permit } = this.#pool;
      this.close(pool.result(outcomesOf(steps.filter((each) => each.pool === permit))));
    }
    if (isSettled(outcomesOf(this.#steps))) return;
    this.#localLost(outcomesOf(steps));
  }

  /** What a forced call may go to, soonest first: excluded upstreams, and machines that were not called. */
  #forcible(): readonly Step[] {
    const turns = this.#steps.flatMap(({ turn }) => turn ?? []);
    const isForced = turns.some(({ mode }) => mode === 'forced');
    if (isForced || hasRefusal(outcomesOf(this.#steps))) return [];
    const called = turns.flatMap(({ call }) => call.provider ?? []);
    const left = this.#steps
      .filter(({ pool, turn }) => pool === null && turn === null)
      .map((step) => ({ ...step, candidate: withoutMachines(step.candidate, called) }));
    const exclusions = left.flatMap(({ candidate }) =>
      candidate.kind === 'pool' && called.length > 0 ? candidate.pool.exclusion() : [],
    );
    const { retryAfterMaxMs } = this.#request.config.routing;
    return forcibleSoonestFirst([...this.outcomes(null), ...exclusions], retryAfterMaxMs).flatMap(
      (skip) => left.filter(({ candidate }) => candidate.upstream === skip.upstream),
    );
  }
}

const withoutMachines = (candidate: Candidate, called: readonly string[]): Candidate =>
  candidate.kind === 'pool' ? { ...candidate, pool: candidate.pool.without(called) } : candidate;

const outcomesOf = (steps: readonly Step[]) =>
  steps.map(({ outcome }) => outcome).filter((outcome) => outcome !== null);
