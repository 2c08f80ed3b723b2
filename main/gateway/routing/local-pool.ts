import type { Config } from '../../config/schema.ts';
import type { HeldPermit, Excluded } from '../circuits/circuits.ts';
import type { Result } from '../circuits/transitions.ts';
import { NEUTRAL } from '../circuits/transitions.ts';
import { type ChatCall, localCall } from '../upstream/call.ts';
import type { Failure } from '../upstream/failure.ts';
import { localModel, type LocalTarget } from '../upstream/upstreams.ts';
import type { AdmissionMode, AdmittedCall, Candidate, CallFilter } from './candidate.ts';
import type { Failed, UpstreamOutcome, Outrun } from './fallback-reasons.ts';
import {
  idOf,
  type BalancingDeps,
  poolExclusion,
  preferred,
  skipped,
  soonestFirst,
  poolResult,
} from './local-balancing.ts';

/** The request on whose behalf the tier is asked. */
export interface LocalPoolRequest {
  readonly call: ChatCall;
  readonly config: Config;
  /** Of the circuits, when the request took up its addresses and keys. */
  readonly epoch: number;
}

/**
 * The machines of the local tier, at most three of them in turn, each with an equal share of the tier's
 * time. The circuit of `local` counts the pool, each machine's own circuit counts the machine.
 */
export function localPoolCandidate(
  targets: readonly LocalTarget[],
  context: LocalPoolRequest,
  deps: BalancingDeps,
): Candidate {
  return new LocalPoolCandidate(targets, context, deps);
}

class LocalPoolCandidate implements Candidate {
  readonly upstream = 'local';
  readonly #targets: readonly LocalTarget[];
  readonly #context: LocalPoolRequest;
  readonly #deps: BalancingDeps;
  /** Those that may still be asked; null before the first was. */
  #ahead: LocalTarget[] | null = null;
  #maxCalls = 0;
  readonly #dispatched: AdmittedCall[] = [];
  readonly #ended = new Map<AdmittedCall, Failed | Outrun>();
  #running = 0;
  #pool: HeldPermit | null = null;
  /** The tier's circuit has heard how the request went, or will from the answer. */
  #isRecorded = false;
  #exclusion: UpstreamOutcome | null = null;

  constructor(targets: readonly LocalTarget[], context: LocalPoolRequest, deps: BalancingDeps) {
    this.#targets = targets;
    this.#context = context;
    this.#deps = deps;
  }

  next(mode: AdmissionMode, filter: CallFilter): AdmittedCall | null {
    if (this.#ahead === null && mode === 'admitIfClosed') return null;
    this.#ahead ??= this.#begin(mode);
    const { call, config, epoch } = this.#context;
    // Those that are dropped on the way leave another list behind.
    for (const target of this.#ahead) {
      if (this.#pool === null || this.#dispatched.length === this.#maxCalls) break;
      const ready = localCall(call, target, config, this.#maxCalls);
      if (!filter(ready)) continue;
      const id = idOf(target);
      const own = this.#deps.circuits[mode](id, ready, epoch);
      if (own.kind === 'admitted' || mode !== 'admitIfClosed') this.#drop(target);
      if (own.kind === 'excluded') continue;
      const admitted = {
        call: ready,
        permits: { own: { id, permit: own.permit }, pool: this.#pool },
      };
      this.#dispatched.push(admitted);
      this.#running += 1;
      return admitted;
    }
    this.#recordIfLost();
    return null;
  }

  /** Whom to ask, and in; nobody where all are out. */
  #begin(mode: AdmissionMode): LocalTarget[] {
    const { call, config, epoch } = this.#context;
    const order =
      mode === 'admitForced'
        ? soonestFirst(this.#targets, this.#outOf)
        : preferred(this.#targets, call.request, this.#outOf, this.#deps);
    if (order.length === 0) return [];
    // Of those that are out only one is asked, the first whose probe is not out already.
    this.#maxCalls = mode === 'admitForced' ? 1 : order.length;
    const wish = { model: '', timeoutMs: config.local.timeoutMs };
    const entry = this.#deps.circuits[mode]('local', wish, epoch);
    if (entry.kind === 'admitted') this.#pool = { id: 'local', permit: entry.permit };
    else this.#exclusion = skipped(entry);
    return order;
  }

  hasMore(): boolean {
    return this.#ahead === null || !this.#isSpent();
  }

  failed(admitted: AdmittedCall, failure: Failure): void {
    const provider = admitted.permits.own.id;
    this.#ended.set(admitted, { kind: 'failed', upstream: 'local', provider, failure });
    this.#end();
  }

  outrun(admitted: AdmittedCall): void {
    const provider = admitted.permits.own.id;
    this.#ended.set(admitted, { kind: 'outrun', upstream: 'local', provider });
    this.#running -= 1;
  }

  broken(): void {
    this.#isRecorded = true;
    this.#end();
  }

  close(): void {
    this.#ahead = [];
    if (this.#running > 0) this.#record(NEUTRAL);
    else this.#recordIfLost();
  }

  isLost(): boolean {
    return this.#ahead !== null && this.#running === 0 && this.#isSpent();
  }

  outcomes(until: AdmittedCall | null): readonly UpstreamOutcome[] {
    if (this.#dispatched.length === 0)
      return [this.#exclusion ?? poolExclusion(this.#targets, this.#outOf)];
    const end = until === null ? -1 : this.#dispatched.indexOf(until);
    return this.#outcomesOf(end === -1 ? this.#dispatched : this.#dispatched.slice(0, end));
  }

  #outcomesOf(admittedCalls: readonly AdmittedCall[]): (Failed | Outrun)[] {
    return admittedCalls
      .map((admitted) => this.#ended.get(admitted))
      .filter((each) => each !== undefined);
  }

  #end(): void {
    this.#running -= 1;
    this.#recordIfLost();
  }

  #isSpent(): boolean {
    return (
      this.#pool === null || this.#dispatched.length === this.#maxCalls || this.#ahead?.length === 0
    );
  }

  #recordIfLost(): void {
    if (this.isLost())
      this.#record(poolResult(this.#outcomesOf(this.#dispatched), this.#targets, this.#outOf));
  }

  #record(result: Result): void {
    if (this.#pool === null || this.#isRecorded) return;
    this.#isRecorded = true;
    this.#deps.circuits.record(this.#pool.id, this.#pool.permit, result);
  }

  #drop(target: LocalTarget): void {
    this.#ahead = (this.#ahead ?? []).filter((each) => each !== target);
  }

  readonly #outOf = (target: LocalTarget): Excluded | null =>
    this.#deps.circuits.exclusionOf(
      idOf(target),
      localModel(target, this.#context.call.request.model) ?? '',
    );
}
