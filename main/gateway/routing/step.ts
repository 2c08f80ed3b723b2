import type { UpstreamId } from '#shared/ids.ts';
import type { Circuits, Excluded, HeldPermit } from '../circuits/circuits.ts';
import { NEUTRAL, type Result } from '../circuits/breaker.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { Failure } from '../upstream/failure.ts';
import type { Attempt, Permits } from './attempt.ts';
import type { Failed, HedgeLost, Skipped, UpstreamOutcome } from './outcomes.ts';

/**
 * `in_turn`: in routing order; `again`: after a wait that the upstream asked for; `forced`: no other upstream is
 * left; `hedge`: beside a slow call.
 */
export type AdmissionMode = 'in_turn' | 'again' | 'forced' | 'hedge';

/** Which calls are acceptable; those that are not keep their turn. */
export type CallFilter = (call: UpstreamCall) => boolean;

export interface Callable {
  /** Of its circuit. */
  readonly id: string;
  readonly call: () => UpstreamCall;
}

export interface CallablePool {
  /** The calls in the order of preference; asked for once, when the pool's turn has come. */
  readonly callables: (mode: AdmissionMode) => readonly Callable[];
  readonly timeoutMs: number;
  /** Why the pool is excluded when none of its machines is called. */
  readonly exclusion: () => Skipped;
  /** What the calls say of the pool as a whole. */
  readonly result: (ended: readonly (Failed | HedgeLost)[]) => Result;
}

/** An upstream that a request may go to, or why it may not. */
export type Candidate =
  | { readonly kind: 'skipped'; readonly upstream: UpstreamId; readonly outcome: Skipped }
  | { readonly kind: 'single'; readonly upstream: UpstreamId; readonly callable: Callable }
  | { readonly kind: 'pool'; readonly upstream: 'local'; readonly pool: CallablePool };

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
    const admission = circuits.admitRetry(id, call, epoch);
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
  #taken: readonly Taken[] = [];
  #poolPermit: PoolPermit | null = null;
  /** Why its own circuit did not admit. */
  #exclusion: Skipped | null = null;

  constructor(candidate: Candidate, circuits: Circuits, epoch: number) {
    this.candidate = candidate;
    this.upstream = candidate.upstream;
    this.#circuits = circuits;
    this.#epoch = epoch;
    this.#callables = candidate.kind === 'single' ? [candidate.callable] : [];
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
    this.#callables = [];
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
    const admission = admit(this.#circuits, mode, 'local', asked, this.#epoch);
    if (admission.kind === 'excluded') {
      this.#exclusion = skipped(this.upstream, admission);
      return;
    }
    this.#callables = callables;
    this.#poolPermit = { permit: { id: 'local', permit: admission.permit }, isRecorded: false };
  }

  #admitted(callable: Callable, call: UpstreamCall, mode: AdmissionMode): Turn | null {
    const { id } = callable;
    const admission = admit(this.#circuits, mode, id, call, this.#epoch);
    // A hedged call that is refused leaves the upstream's own turn as it was.
    if (admission.kind === 'excluded' && mode === 'hedge') return null;
    this.#state = 'entered';
    this.#callables = this.#callables.filter((each) => each !== callable);
    if (admission.kind === 'excluded') {
      if (this.candidate.kind === 'single') this.#exclusion = skipped(this.upstream, admission);
      return null;
    }
    // Only one excluded machine is forced: the first one without another request's probe.
    if (mode === 'forced') this.#callables = [];
    const own = { id, permit: admission.permit };
    const pool = this.#poolPermit?.permit ?? null;
    const turn = new Turn(this, call, { own, pool }, admission.at);
    this.#taken = [...this.#taken, { turn, outcome: 'running' }];
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

function admit(
  circuits: Circuits,
  mode: AdmissionMode,
  id: string,
  request: Parameters<Circuits['admit']>[1],
  epoch: number,
): ReturnType<Circuits['admit']> {
  switch (mode) {
    case 'in_turn':
      return circuits.admit(id, request, epoch);
    case 'again':
      return circuits.admitRetry(id, request, epoch);
    case 'forced':
      return circuits.admitForced(id, request, epoch);
    case 'hedge':
      return circuits.admitIfClosed(id, request, epoch);
  }
}

function ended(taken: readonly Taken[]): (Failed | HedgeLost)[] {
  return taken
    .map(({ outcome }) => outcome)
    .filter((outcome) => outcome !== 'running' && outcome !== 'broken');
}

export function skipped(upstream: UpstreamId, { reason, waitMs, backAtTicks }: Excluded): Skipped {
  return { kind: 'skipped', upstream, reason, waitMs, backAtTicks };
}
