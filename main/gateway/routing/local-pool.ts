import type { Config } from '../../config/schema.ts';
import type { Excluded, HeldPermit } from '../circuits/circuits.ts';
import { NEUTRAL, type Result } from '../circuits/breaker.ts';
import { type ChatCall, localCall, modelAt } from '../upstream/call.ts';
import type { Failure } from '../upstream/failure.ts';
import type { LocalTarget } from '../upstream/upstreams.ts';
import type { AdmissionMode, AdmittedCall, CallFilter, Candidate } from './candidate.ts';
import type { Failed, HedgeLost, UpstreamOutcome } from './fallback-reasons.ts';
import {
  type BalancingDeps,
  idOf,
  poolExclusion,
  poolResult,
  preferred,
  skipped,
  soonest,
  soonestFirst,
} from './local-balancing.ts';

interface LocalPoolRequest {
  readonly call: ChatCall;
  /** The request as a machine takes it. */
  readonly formAt: (target: LocalTarget) => ChatCall;
  readonly config: Config;
  /** The circuits' epoch at the moment when `config` was read. */
  readonly epoch: number;
}

type PoolState =
  | { readonly kind: 'unused' }
  /** No call was admitted, or it was closed before one was. */
  | {
      readonly kind: 'unavailable';
      /** The pool's own exclusion; null: each of its machines is excluded by itself. */
      readonly exclusion: UpstreamOutcome | null;
    }
  | Admitted;

interface Admitted {
  readonly kind: 'admitted';
  readonly pool: HeldPermit;
  readonly maxCalls: number;
  /** Machines that may still be called, best first. */
  readonly ahead: readonly LocalTarget[];
  /** `recorded`: the pool's circuit has the result, or will get it from the answer. */
  readonly result: 'pending' | 'recorded';
}

interface PoolCall {
  readonly admitted: AdmittedCall;
  outcome: 'running' | 'broken' | Failed | HedgeLost;
}

const UNUSED: PoolState = { kind: 'unused' };

/**
 * The machines of the local pool, at most three of them in turn, each with an equal share of the pool's
 * time. The circuit of `local` counts the pool, each machine's own circuit counts the machine.
 */
export class LocalPoolCandidate implements Candidate {
  readonly upstream = 'local';
  readonly #targets: readonly LocalTarget[];
  readonly #request: LocalPoolRequest;
  readonly #deps: BalancingDeps;
  #state: PoolState = UNUSED;
  #calls: readonly PoolCall[] = [];

  constructor(targets: readonly LocalTarget[], request: LocalPoolRequest, deps: BalancingDeps) {
    this.#targets = targets;
    this.#request = request;
    this.#deps = deps;
  }

  next(mode: AdmissionMode, filter: CallFilter): AdmittedCall | null {
    if (this.#state.kind === 'unused') {
      if (mode === 'admitIfClosed') return null;
      this.#state = this.#enter(mode);
    }
    const state = this.#state;
    if (state.kind === 'admitted' && this.#calls.length < state.maxCalls) {
      const admitted = this.#nextMachine(state, mode, filter);
      if (admitted !== null) return admitted;
    }
    this.#recordIfLost();
    return null;
  }

  /** Orders the machines and asks the pool's circuit. */
  #enter(mode: AdmissionMode): PoolState {
    const { config, epoch } = this.#request;
    const ahead = this.#inOrder(mode);
    if (ahead.length === 0) return { kind: 'unavailable', exclusion: null };
    const { timeoutMs } = config.local;
    const admission = this.#deps.circuits[mode]('local', { model: '', timeoutMs }, epoch);
    if (admission.kind === 'excluded') {
      return { kind: 'unavailable', exclusion: skipped(admission) };
    }
    const pool = { id: 'local', permit: admission.permit };
    // Only one excluded machine is forced: the first one without another request's probe.
    const maxCalls = mode === 'admitForced' ? 1 : ahead.length;
    return { kind: 'admitted', pool, maxCalls, ahead, result: 'pending' };
  }

  #inOrder(mode: AdmissionMode): readonly LocalTarget[] {
    switch (mode) {
      case 'admitForced':
        return soonestFirst(this.#targets, this.#exclusionOf);
      case 'admitRetry':
        return soonest(this.#targets, this.#exclusionOf);
      default: {
        const { request } = this.#request.call;
        return preferred(this.#targets, request, this.#exclusionOf, this.#deps);
      }
    }
  }

  #nextMachine(
    { ahead, pool, maxCalls }: Admitted,
    mode: AdmissionMode,
    filter: CallFilter,
  ): AdmittedCall | null {
    const { formAt, config, epoch } = this.#request;
    for (const target of ahead) {
      const machineCall = localCall(formAt(target), target, config, maxCalls);
      if (!filter(machineCall)) continue;
      const id = idOf(target);
      const own = this.#deps.circuits[mode](id, machineCall, epoch);
      // A hedged call that is refused leaves the machine's own turn as it was.
      if (own.kind === 'admitted' || mode !== 'admitIfClosed') this.#drop(target);
      if (own.kind === 'excluded') continue;
      const permits = { own: { id, permit: own.permit }, pool };
      const admitted = { call: machineCall, permits, at: own.at };
      this.#calls = [...this.#calls, { admitted, outcome: 'running' }];
      return admitted;
    }
    return null;
  }

  hasMore(): boolean {
    return this.#state.kind === 'unused' || !this.#isSpent(this.#state);
  }

  failed(admitted: AdmittedCall, failure: Failure): void {
    const provider = admitted.permits.own.id;
    this.#end(admitted, { kind: 'failed', upstream: 'local', provider, failure });
    this.#recordIfLost();
  }

  /** Records nothing: the call that won decides what the pool's result is. */
  hedgeLost(admitted: AdmittedCall): void {
    const provider = admitted.permits.own.id;
    this.#end(admitted, { kind: 'hedge_lost', upstream: 'local', provider });
  }

  /** The attempt has recorded its result for the pool as well. */
  broken(admitted: AdmittedCall): void {
    this.#end(admitted, 'broken');
    if (this.#state.kind === 'admitted') this.#state = { ...this.#state, result: 'recorded' };
  }

  close(): void {
    switch (this.#state.kind) {
      case 'unused':
        this.#state = { kind: 'unavailable', exclusion: null };
        break;
      case 'admitted':
        this.#state = { ...this.#state, ahead: [] };
        if (this.#isRunning()) this.#record(NEUTRAL);
        else this.#recordIfLost();
        break;
      case 'unavailable':
        break;
    }
  }

  isLost(): boolean {
    return this.#state.kind !== 'unused' && !this.#isRunning() && this.#isSpent(this.#state);
  }

  outcomes(until: AdmittedCall | null): readonly UpstreamOutcome[] {
    if (this.#calls.length === 0) {
      const exclusion = this.#state.kind === 'unavailable' ? this.#state.exclusion : null;
      return [exclusion ?? poolExclusion(this.#targets, this.#exclusionOf)];
    }
    const end = this.#calls.findIndex(({ admitted }) => admitted === until);
    return ended(end === -1 ? this.#calls : this.#calls.slice(0, end));
  }

  #end(admitted: AdmittedCall, outcome: PoolCall['outcome']): void {
    const call = this.#calls.find((each) => each.admitted === admitted);
    if (call !== undefined) call.outcome = outcome;
  }

  #drop(target: LocalTarget): void {
    if (this.#state.kind !== 'admitted') return;
    const ahead = this.#state.ahead.filter((each) => each !== target);
    this.#state = { ...this.#state, ahead };
  }

  #isRunning(): boolean {
    return this.#calls.some(({ outcome }) => outcome === 'running');
  }

  /** No machine is left to call. */
  #isSpent(state: PoolState): boolean {
    return (
      state.kind !== 'admitted' || state.ahead.length === 0 || this.#calls.length === state.maxCalls
    );
  }

  #recordIfLost(): void {
    if (this.#state.kind !== 'admitted' || !this.isLost()) return;
    this.#record(poolResult(ended(this.#calls), this.#targets, this.#exclusionOf));
  }

  #record(result: Result): void {
    const state = this.#state;
    if (state.kind !== 'admitted' || state.result === 'recorded') return;
    this.#state = { ...state, result: 'recorded' };
    this.#deps.circuits.record(state.pool.id, state.pool.permit, result);
  }

  readonly #exclusionOf = (target: LocalTarget): Excluded | null =>
    this.#deps.circuits.exclusionOf(
      idOf(target),
      modelAt(target, this.#request.call.request) ?? '',
    );
}

function ended(calls: readonly PoolCall[]): (Failed | HedgeLost)[] {
  return calls
    .map(({ outcome }) => outcome)
    .filter((outcome) => outcome !== 'running' && outcome !== 'broken');
}
