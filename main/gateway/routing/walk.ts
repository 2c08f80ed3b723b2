import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { FallbackReason } from '#shared/reasons.ts';
import { type AdmissionMode, NEUTRAL, type Result } from '../circuits/breaker.ts';
import type { CircuitPermit } from '../circuits/circuits.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { Failure } from '../upstream/failure.ts';
import type { Turn } from './call-upstream.ts';
import {
  type Candidate,
  type CandidateDeps,
  type Candidates,
  candidatesFor,
  type RoutedRequest,
} from './candidates.ts';
import type { LocalPool, SingleCall } from './local-pool.ts';
import {
  forcibleSoonestFirst,
  hasRefusal,
  isSettled,
  type LostCall,
  reasonOf,
  type Skip,
  skipped,
  type UpstreamOutcome,
} from './outcomes.ts';

/** Which calls are acceptable; those that are not keep their turn. */
type CallFilter = (call: UpstreamCall) => boolean;

/** After so long with forced calls no further one is made. */
const FORCING_MS = 1000;

type Place = UpstreamId | Candidate;

/** One whose turn has come. */
interface Step {
  readonly upstream: UpstreamId;
  /** Null if it was passed over. */
  readonly turn: Turn | null;
  /** `open`: its call is running, or has answered; `broken`: its answer has broken off. */
  outcome: UpstreamOutcome | 'open' | 'broken';
}

/**
 * A request's way from upstream to upstream: who is called next, and what came of those before. A hosted upstream or a
 * fixed engine is one candidate; the local pool becomes one candidate for each machine when its turn comes.
 */
export class Walk {
  readonly #request: RoutedRequest;
  readonly #deps: CandidateDeps;
  /** Called each time that the last possible call to `local` has failed, or was not admitted. */
  readonly #localLost: (reasons: readonly FallbackReason[]) => void;
  readonly #candidates: Candidates;
  /** Those whose turn has not come, in routing order: upstreams, and machines in place of the local pool. */
  #ahead: readonly (UpstreamId | SingleCall)[];
  /** In routing order, those of one upstream as their turn came. */
  readonly #steps: Step[] = [];
  /** The local pool that was entered, while its circuit waits for the result. */
  #pool: { readonly pool: LocalPool; readonly permit: CircuitPermit } | null = null;

  constructor(
    request: RoutedRequest,
    deps: CandidateDeps,
    localLost: (reasons: readonly FallbackReason[]) => void,
  ) {
    this.#request = request;
    this.#deps = deps;
    this.#localLost = localLost;
    this.#candidates = candidatesFor(request, deps);
    this.#ahead = this.#candidates.order;
  }

  /**
   * The next call in routing order that is acceptable; null when no upstream admits one. As a `hedge`, an upstream whose
   * circuit is not closed is passed over without losing its turn.
   */
  next(mayCall: CallFilter = () => true, mode: 'in_turn' | 'hedge' = 'in_turn'): Turn | null {
    return isSettled(outcomesOf(this.#steps)) ? null : this.#first(this.#ahead, mode, mayCall);
  }

  /**
   * When nobody is left: a call to the excluded upstream, or machine of the local pool, whose exclusion ends
   * soonest. A lost answer is worth one more wait and not several: the next ones, as many as there are upstreams, are called
   * only if nothing listened there. To find no machine at an address takes a wait, too.
   */
  force(mayCall: CallFilter = () => true): Turn | null {
    return this.#first(this.#forcible(), 'forced', mayCall);
  }

  /** Whether an upstream could answer the request and may, whatever its circuit says. */
  suits(id: UpstreamId): boolean {
    const { order, of } = this.#candidates;
    return order.includes(id) && of(id).kind !== 'skipped';
  }

  /** Whether one of these upstreams may still be called in its turn. */
  hasAhead(which: (id: UpstreamId) => boolean): boolean {
    const isAmong = (place: UpstreamId | SingleCall) =>
      typeof place === 'string' ? which(place) && this.suits(place) : which(place.upstream);
    return !isSettled(outcomesOf(this.#steps)) && this.#ahead.some(isAmong);
  }

  /** Whether any call is left, in routing order or forced. */
  hasFallback(): boolean {
    return this.hasAhead(() => true) || this.#forcible().length > 0;
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
    this.#release(turn);
    this.#end(turn, { kind: 'hedge_lost', upstream, provider });
  }

  /** Its attempt tells the pool's circuit how the answer ends. */
  answered(turn: Turn): void {
    if (this.#pool?.permit === turn.permits.pool) this.#pool = null;
    this.close();
  }

  /** The call's answer broke off after its first content. */
  broken(turn: Turn): void {
    this.#end(turn, 'broken');
    this.#settle(turn.call.upstream);
  }

  /** No further machine of the pool will be called. */
  close(result: Result = NEUTRAL): void {
    const permit = this.#pool?.permit;
    this.#pool = null;
    if (permit !== undefined) this.#deps.circuits.record(permit, result);
  }

  /** The request is over: what it still holds is given back, or its circuits would wait for a result for ever. */
  finish(): void {
    for (const { turn } of this.#steps) if (turn !== null) this.#release(turn);
    this.close();
  }

  /** The outcomes, in routing order, before the call that answers; with null, of all whose turn came. */
  outcomes(answering: Turn | null): readonly UpstreamOutcome[] {
    // What is forced comes last, whatever its place.
    const isLast = answering === null || answering.mode === 'forced';
    const end = isLast ? undefined : this.#steps.findIndex(({ turn }) => turn === answering);
    // A call stands in place of an exclusion.
    const isCalled = (upstream: UpstreamId) =>
      this.#steps.some((each) => each.upstream === upstream && each.turn !== null);
    const shown = this.#steps.slice(0, end);
    return outcomesOf(shown.filter(({ turn, upstream }) => turn !== null || !isCalled(upstream)));
  }

  #first(places: Iterable<Place>, mode: AdmissionMode, mayCall: CallFilter): Turn | null {
    for (const place of places) {
      const turn = this.#enter(place, mode, mayCall);
      if (turn !== null) return turn;
    }
    return null;
  }

  /** Asks a candidate's circuits for a call; null if they admit none, or if it keeps its turn. */
  #enter(place: Place, mode: AdmissionMode, mayCall: CallFilter): Turn | null {
    const candidate = typeof place === 'string' ? this.#candidates.of(place) : place;
    if (candidate.kind === 'skipped') return this.#passOver(place, candidate, mode);
    if (candidate.kind === 'pool') return this.#enterPool(candidate, place, mode, mayCall);
    const call = candidate.call();
    if (!mayCall(call)) return null;
    const { id, upstream, pool = null } = candidate;
    const { circuits } = this.#deps;
    const excluded = mode === 'forced' ? circuits.exclusionOf(id, call.model) : null;
    const admission = circuits.admit(id, call, this.#request.epoch, mode);
    if (admission.kind === 'excluded')
      return mode === 'hedge' ? null : this.#passOver(place, skipped(upstream, admission), mode);
    const { permit: own, at } = admission;
    const waitMs = excluded?.reason === 'rate_limited' ? excluded.waitMs : null;
    const before = () => this.outcomes(turn);
    const turn: Turn = { call, mode, at, permits: { own, pool }, before, waitMs, attempt: null };
    this.#leave(place, { upstream, turn, outcome: 'open' });
    return turn;
  }

  #enterPool(pool: LocalPool, place: Place, mode: AdmissionMode, mayCall: CallFilter): Turn | null {
    if (mode === 'hedge') return null;
    const machines = pool.machines(mode);
    if (machines.length === 0) return this.#passOver(place, pool.exclusion(), mode);
    const request = { model: '', timeoutMs: this.#request.config.local.timeoutMs };
    const admission = this.#deps.circuits.admit('local', request, this.#request.epoch, mode);
    if (admission.kind === 'excluded')
      return this.#passOver(place, skipped('local', admission), mode);
    const { permit } = admission;
    this.#pool = { pool, permit };
    const places = machines.map((machine) => ({ ...machine, pool: permit }));
    this.#ahead = this.#ahead.flatMap((each) => (each === place ? places : each));
    const turn = this.#first(places, mode, mayCall);
    if (turn === null) this.close();
    return turn;
  }

  /** What is forced was passed over before. */
  #passOver(place: Place, outcome: Skip, mode: AdmissionMode): null {
    if (mode === 'forced') return null;
    this.#leave(place, { upstream: outcome.upstream, turn: null, outcome });
    this.#settle(outcome.upstream);
    return null;
  }

  #leave(place: Place, step: Step): void {
    this.#ahead = this.#ahead.filter((each) => each !== place);
    const { order } = this.#candidates;
    const rank = order.indexOf(step.upstream);
    const before = this.#steps.findLastIndex(({ upstream }) => order.indexOf(upstream) <= rank);
    this.#steps.splice(before + 1, 0, step);
  }

  #end(turn: Turn, outcome: LostCall | 'broken'): void {
    for (const step of this.#steps) if (step.turn === turn) step.outcome = outcome;
  }

  #release({ attempt, permits }: Turn): void {
    if (attempt?.call.permits === permits) attempt.end({ kind: 'cancelled' });
    else this.#deps.circuits.record(permits.own, NEUTRAL);
  }

  /** Runs after each call that ended or was not admitted, because `local` may be lost. */
  #settle(upstream: UpstreamId): void {
    if (upstream !== 'local') return;
    const isAhead = this.#ahead.some((each) => each === 'local' || typeof each === 'object');
    const steps = this.#steps.filter((each) => each.upstream === 'local');
    if (isAhead || steps.some(({ outcome }) => outcome === 'open')) return;
    if (this.#pool !== null) {
      const { pool, permit } = this.#pool;
      const ofPool = steps.filter(({ turn }) => turn?.permits.pool === permit);
      this.close(pool.result(outcomesOf(ofPool)));
    }
    if (!isSettled(outcomesOf(this.#steps))) this.#localLost(outcomesOf(steps).map(reasonOf));
  }

  /** What a forced call may go to, soonest first: excluded upstreams, and machines that were not called. */
  #forcible(): readonly Candidate[] {
    const turns = this.#steps.flatMap(({ turn }) => turn ?? []);
    const forced = this.#steps.filter(({ turn }) => turn?.mode === 'forced');
    const hasWaited = forced.some(({ turn, outcome }) => {
      const isLost = typeof outcome === 'object' && reasonOf(outcome) === 'unreachable';
      return !isLost || this.#deps.clock.ticks() - (turn?.at ?? 0) > FORCING_MS;
    });
    const isOver = hasWaited || forced.length === UPSTREAM_IDS.length;
    if (hasRefusal(outcomesOf(this.#steps)) || isOver) return [];
    const called = turns.flatMap(({ call }) => call.provider ?? []);
    const all = this.#candidates.of('local');
    const local = all.kind === 'pool' ? all.without(called) : all;
    const exclusions = local.kind === 'pool' && called.length > 0 ? [local.exclusion()] : [];
    const { retryAfterMaxMs } = this.#request.config.routing;
    return forcibleSoonestFirst([...this.outcomes(null), ...exclusions], retryAfterMaxMs).map(
      ({ upstream }) => (upstream === 'local' ? local : this.#candidates.of(upstream)),
    );
  }
}

const outcomesOf = (steps: readonly Step[]): readonly UpstreamOutcome[] =>
  steps.map(({ outcome }) => outcome).filter((outcome) => typeof outcome === 'object');
