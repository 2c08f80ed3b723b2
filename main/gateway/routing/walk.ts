import type { UpstreamId } from '#shared/ids.ts';
import type { Clock } from '../../platform/clock.ts';
import { NEUTRAL, type Result } from '../circuits/breaker.ts';
import type { AdmissionMode, HeldPermit } from '../circuits/circuits.ts';
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
import type { LocalPool } from './local-pool.ts';
import {
  type LostCall,
  forcibleSoonestFirst,
  type Skipped,
  skipped,
  type UpstreamOutcome,
  wasAttempted,
} from './outcomes.ts';

export interface WalkDeps extends CandidateDeps {
  readonly clock: Clock;
}

/** Which calls are acceptable; those that are not keep their turn. */
export type CallFilter = (call: UpstreamCall) => boolean;

const ANY: CallFilter = () => true;

/** A candidate whose turn has not come. */
interface Ahead {
  readonly candidate: Candidate;
  /** In routing order; the machines of the local pool share theirs. */
  readonly place: number;
  /** The pool's, of a machine of the local pool. */
  readonly pool: HeldPermit | null;
}

/** A call that a circuit admitted; with its retries and polls one turn of its upstream. */
export interface Turn {
  readonly call: UpstreamCall;
  readonly upstream: UpstreamId;
  /** In routing order; those of the local pool share theirs. */
  readonly place: number;
  readonly mode: AdmissionMode;
  /** When it was admitted, in clock ticks. */
  readonly at: number;
  permits: Permits;
  /** Before it is called. */
  readonly waitMs: number;
  /** Its last attempt; null until it was sent. */
  attempt: Attempt | null;
  /** False once it has failed, or its answer has broken off. */
  isRunning: boolean;
  /** Null while it is running, and if it answered. */
  outcome: LostCall | null;
}

interface PassedOver {
  readonly upstream: UpstreamId;
  readonly place: number;
  readonly outcome: Skipped;
}

type Reached = Turn | PassedOver;

/**
 * A request's way from upstream to upstream: who is called next, and what came of those before. A hosted upstream or a
 * fixed engine is one candidate; the local pool becomes one candidate for each machine when its turn comes.
 */
export class Walk {
  readonly #request: RoutedRequest;
  readonly #deps: WalkDeps;
  /** Called each time that the last possible call to `local` has failed, or was not admitted. */
  readonly #localLost: (outcomes: readonly UpstreamOutcome[]) => void;
  /** In routing order. */
  #ahead: readonly Ahead[];
  /** In the order in which their turn came. */
  #reached: readonly Reached[] = [];
  /** The local pool that was entered, while its circuit waits for the result. */
  #pool: { readonly pool: LocalPool; readonly held: HeldPermit } | null = null;

  constructor(
    request: RoutedRequest,
    deps: WalkDeps,
    localLost: (outcomes: readonly UpstreamOutcome[]) => void,
  ) {
    this.#request = request;
    this.#deps = deps;
    this.#localLost = localLost;
    const candidates = candidatesFor(request, deps);
    this.#ahead = candidates.map((candidate, place) => ({ candidate, place, pool: null }));
  }

  /**
   * The next call in routing order that is acceptable; null when no upstream admits one. As a `hedge`, an upstream whose
   * circuit is not closed is passed over without losing its turn.
   */
  next(mayCall: CallFilter = ANY, mode: 'in_turn' | 'hedge' = 'in_turn'): Turn | null {
    if (isSettled(this.#reached)) return null;
    for (const each of this.#ahead) {
      const entered = this.#enter(each, mode, mayCall);
      if (entered === null) continue;
      this.#ahead = this.#ahead.filter((other) => other !== each);
      if (isTurn(entered)) return entered;
      const { upstream } = entered;
      this.#reached = [...this.#reached, { upstream, place: each.place, outcome: entered }];
      if (upstream === 'local') this.#settleLocal();
    }
    return null;
  }

  /**
   * When nobody is left: a call to the excluded upstream, or machine of the local pool, whose exclusion ends
   * soonest. One per request, as a lost answer is worth one more wait and not several.
   */
  force(mayCall: CallFilter = ANY): Turn | null {
    for (const { upstream } of this.#forcible()) {
      const candidate =
        upstream === 'local'
          ? this.#uncalledLocal()
          : remoteCandidate(upstream, this.#request, this.#deps);
      const place = this.#reached.find((each) => each.upstream === upstream)?.place ?? 0;
      const turn = this.#enter({ candidate, place, pool: null }, 'forced', mayCall);
      // Not admitted while another request's probe is running there.
      if (turn !== null && isTurn(turn)) return turn;
    }
    return null;
  }

  /** Upstreams whose turn may still come. */
  ahead(): readonly UpstreamId[] {
    if (isSettled(this.#reached)) return [];
    const callable = this.#ahead.filter(({ candidate }) => candidate.kind !== 'skipped');
    return callable.map(({ candidate }) => candidate.upstream);
  }

  /** Whether any call is left, in routing order or forced. */
  hasFallback(): boolean {
    return this.ahead().length > 0 || this.#forcible().length > 0;
  }

  failed(turn: Turn, failure: Failure): void {
    const { upstream, provider } = turn.call;
    this.#lost(turn, { kind: 'failed', upstream, provider, failure });
  }

  /** Another call's content came first. The call that won decides what the pool's result is. */
  outrun(turn: Turn): void {
    const { upstream, provider } = turn.call;
    turn.attempt?.end({ kind: 'outrun' });
    turn.isRunning = false;
    turn.outcome = { kind: 'hedge_lost', upstream, provider };
  }

  /** Its attempt tells the pool's circuit how the answer ends. */
  answered(turn: Turn): void {
    if (this.#pool?.held === turn.permits.pool) this.#pool = null;
    this.close();
  }

  /** The call's answer broke off after its first content. */
  broken(turn: Turn): void {
    this.#lost(turn, null);
  }

  #lost(turn: Turn, outcome: LostCall | null): void {
    turn.isRunning = false;
    turn.outcome = outcome;
    if (turn.upstream === 'local') this.#settleLocal();
  }

  /** No further machine of the pool will be called. */
  close(): void {
    this.#closePool(NEUTRAL);
  }

  /** In routing order, of those before the call that answers; null: of all that were reached. */
  outcomes(answering: Turn | null): readonly UpstreamOutcome[] {
    const called = turnsIn(this.#reached).map(({ upstream }) => upstream);
    // A call stands in place of an exclusion.
    const shown = this.#reached
      .filter((each) => isTurn(each) || !called.includes(each.upstream))
      .toSorted((a, b) => a.place - b.place);
    // What is forced comes last, whatever its place.
    const isLast = answering === null || answering.mode === 'forced';
    const before = isLast ? shown : shown.slice(0, shown.indexOf(answering));
    return before.flatMap(({ outcome }) => outcome ?? []);
  }

  /** Asks a candidate's circuits for a call; null if it keeps its turn. */
  #enter(ahead: Ahead, mode: AdmissionMode, mayCall: CallFilter): Turn | Skipped | null {
    const { candidate, place, pool } = ahead;
    if (candidate.kind === 'skipped') return candidate;
    if (candidate.kind === 'pool') return this.#enterPool(candidate.pool, ahead, mode, mayCall);
    const call = candidate.call();
    if (!mayCall(call)) return null;
    const { id, upstream } = candidate;
    const { circuits } = this.#deps;
    const excluded = mode === 'forced' ? circuits.exclusionOf(id, call.model) : null;
    const admission = circuits.admit(id, call, this.#request.epoch, mode);
    if (admission.kind === 'excluded')
      return mode === 'hedge' ? null : skipped(upstream, admission);
    const { permit, at } = admission;
    const turn: Turn = {
      call,
      upstream,
      place,
      mode,
      at,
      permits: { own: { id, permit }, pool },
      waitMs: excluded?.reason === 'rate_limited' ? excluded.waitMs : 0,
      attempt: null,
      isRunning: true,
      outcome: null,
    };
    this.#reached = [...this.#reached, turn];
    return turn;
  }

  #enterPool(pool: LocalPool, ahead: Ahead, mode: AdmissionMode, mayCall: CallFilter) {
    if (mode === 'hedge') return null;
    const machines = pool.machines(mode);
    if (machines.length === 0) return pool.exclusion();
    const { circuits } = this.#deps;
    const asked = { model: '', timeoutMs: pool.timeoutMs };
    const admission = circuits.admit('local', asked, this.#request.epoch, mode);
    if (admission.kind === 'excluded') return skipped('local', admission);
    const held = { id: 'local', permit: admission.permit };
    this.#pool = { pool, held };
    const each = machines.map((candidate) => ({ ...ahead, candidate, pool: held }));
    for (const machine of each) {
      const turn = this.#enter(machine, mode, mayCall);
      if (turn === null || !isTurn(turn)) continue;
      // Only one excluded machine is forced.
      const others = mode === 'forced' ? [] : each.filter((other) => other !== machine);
      this.#ahead = this.#ahead.flatMap((other) => (other === ahead ? others : [other]));
      return turn;
    }
    this.close();
    return pool.exclusion();
  }

  /** After each call to `local` that ended, and each that was not admitted. */
  #settleLocal(): void {
    const isAhead = this.#ahead.some(({ candidate }) => candidate.upstream === 'local');
    const calls = turnsIn(this.#reached).filter(({ upstream }) => upstream === 'local');
    if (isAhead || calls.some((turn) => turn.isRunning)) return;
    if (this.#pool !== null) {
      const { pool, held } = this.#pool;
      const ofPool = calls.filter(({ permits }) => permits.pool === held);
      this.#closePool(pool.result(ofPool.flatMap(({ outcome }) => outcome ?? [])));
    }
    if (isSettled(this.#reached)) return;
    this.#localLost(this.outcomes(null).filter(({ upstream }) => upstream === 'local'));
  }

  #closePool(result: Result): void {
    if (this.#pool === null) return;
    const { id, permit } = this.#pool.held;
    this.#pool = null;
    this.#deps.circuits.record(id, permit, result);
  }

  /** What a forced call may go to, soonest first: excluded upstreams, and machines that were not called. */
  #forcible(): readonly Skipped[] {
    const refusals = failuresIn(this.#reached).filter(
      ({ failure }) => failure.fallBack !== 'always',
    );
    // A refusal is an answer: for a second opinion no excluded upstream is called.
    if (refusals.length > 0 || hasForced(this.#reached)) return [];
    const hasCalled = turnsIn(this.#reached).some(({ call }) => call.provider !== null);
    const local = hasCalled ? this.#uncalledLocal() : null;
    const left = local?.kind === 'pool' ? [local.pool.exclusion()] : [];
    const { retryAfterMaxMs } = this.#request.config.routing;
    return forcibleSoonestFirst([...this.outcomes(null), ...left], retryAfterMaxMs);
  }

  /** Without the machines that were called. */
  #uncalledLocal(): Candidate {
    const called = turnsIn(this.#reached).map(({ call }) => call.provider);
    return localCandidate(
      this.#request,
      this.#deps,
      ({ provider }: LocalTarget) => provider === null || !called.includes(provider),
    );
  }
}

const isTurn = (each: Reached | Skipped): each is Turn => 'call' in each;

const turnsIn = (reached: readonly Reached[]) => reached.filter(isTurn);

const failuresIn = (reached: readonly Reached[]) =>
  reached.flatMap(({ outcome }) => outcome ?? []).filter(wasAttempted);

const hasForced = (reached: readonly Reached[]) =>
  turnsIn(reached).some(({ mode }) => mode === 'forced');

/** Whether no other upstream is asked: a refusal that another upstream repeats is the request's own fault. */
function isSettled(reached: readonly Reached[]): boolean {
  const failures = failuresIn(reached);
  const refusals = failures.filter(({ failure }) => failure.fallBack === 'once');
  const refusedBy = new Set(refusals.map(({ upstream }) => upstream));
  return refusedBy.size > 1 || failures.some(({ failure }) => failure.fallBack === 'never');
}
