import { mapUpstreams, type UpstreamId } from '#shared/ids.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { Failure } from '../upstream/failure.ts';
import type { Permits } from './attempts.ts';
import type { Skipped, UpstreamOutcome } from './fallback-reasons.ts';

/**
 * `admit`: in routing order; `admitRetry`: again, after a wait that the upstream asked for; `admitForced`: no other
 * upstream is left; `admitIfClosed`: a hedged call.
 */
export type AdmissionMode = 'admit' | 'admitRetry' | 'admitForced' | 'admitIfClosed';

export interface AdmittedCall {
  readonly call: UpstreamCall;
  readonly permits: Permits;
  /** When it was admitted, in clock ticks. */
  readonly at: number;
}

/** Which calls are acceptable; a candidate keeps those that are not for later. */
export type CallFilter = (call: UpstreamCall) => boolean;

export const ANY: CallFilter = () => true;

/** One upstream of a fallback plan: a single call, in the local pool up to three in turn. */
export interface Candidate {
  readonly upstream: UpstreamId;
  /** Admits the next call; null when there is none, at all or in this mode. Each call is ended once. */
  next(mode: AdmissionMode, filter: CallFilter): AdmittedCall | null;
  /** Whether a call may still be admitted, as far as it is known without trying. */
  hasMore(): boolean;
  failed(admitted: AdmittedCall, failure: Failure): void;
  /** Another call's content came first. */
  hedgeLost(admitted: AdmittedCall): void;
  /** The call's answer broke off after its first content. */
  broken(admitted: AdmittedCall): void;
  /** No further call will be admitted. */
  close(): void;
  /** No call is running, and none will be admitted. */
  isLost(): boolean;
  /** Outcomes of the calls before `until`, in order; null: of all. */
  outcomes(until: AdmittedCall | null): readonly UpstreamOutcome[];
}

/** An admitted call and the candidate that its outcome is reported to. */
export interface Dispatch {
  readonly candidate: Candidate;
  readonly admitted: AdmittedCall;
}

/** An upstream that is skipped without asking its circuit. */
export class SkippedCandidate implements Candidate {
  readonly upstream: UpstreamId;
  readonly #outcomes: readonly Skipped[];

  constructor(upstream: UpstreamId, reason: Skipped['reason'], causes?: Skipped['causes']) {
    const skipped = { kind: 'skipped', upstream, reason, waitMs: null, backAtTicks: null } as const;
    this.upstream = upstream;
    this.#outcomes = [causes === undefined ? skipped : { ...skipped, causes }];
  }

  next(): null {
    return null;
  }

  hasMore(): boolean {
    return false;
  }

  isLost(): boolean {
    return true;
  }

  outcomes(): readonly UpstreamOutcome[] {
    return this.#outcomes;
  }

  close(): void {
    // It never admits a call.
  }

  failed(): never {
    throw new Error('a skipped upstream has no calls');
  }

  hedgeLost(): never {
    return this.failed();
  }

  broken(): never {
    return this.failed();
  }
}

/** Most upstreams of most plans; they have no state. */
export const NOT_CONFIGURED = mapUpstreams((id) => new SkippedCandidate(id, 'not_configured'));

type SingleState =
  | { readonly kind: 'ahead' }
  | { readonly kind: 'running' }
  /** `outcome` is null after an answer that broke off, and where it was closed before it was called. */
  | { readonly kind: 'lost'; readonly outcome: UpstreamOutcome | null };

const AHEAD: SingleState = { kind: 'ahead' };
const RUNNING: SingleState = { kind: 'running' };
const LOST_SILENTLY: SingleState = { kind: 'lost', outcome: null };

/** An upstream that takes one call. */
export class SingleCandidate implements Candidate {
  readonly upstream: UpstreamId;
  readonly #prepare: () => UpstreamCall;
  /** Null until it is needed: most requests call one upstream of their plan. */
  #call: UpstreamCall | null = null;
  readonly #circuits: Circuits;
  readonly #epoch: number;
  #state: SingleState = AHEAD;

  constructor(
    upstream: UpstreamId,
    prepare: () => UpstreamCall,
    { circuits, epoch }: { readonly circuits: Circuits; readonly epoch: number },
  ) {
    this.upstream = upstream;
    this.#prepare = prepare;
    this.#circuits = circuits;
    this.#epoch = epoch;
  }

  next(mode: AdmissionMode, filter: CallFilter): AdmittedCall | null {
    if (this.#state.kind !== 'ahead') return null;
    const { upstream } = this;
    const call = (this.#call ??= this.#prepare());
    if (!filter(call)) return null;
    const admission = this.#circuits[mode](upstream, call, this.#epoch);
    if (admission.kind === 'admitted') {
      this.#state = RUNNING;
      const own = { id: upstream, permit: admission.permit };
      return { call, permits: { own, pool: null }, at: admission.at };
    }
    const { reason, waitMs, backAtTicks } = admission;
    // A hedged call that is refused leaves the upstream's own turn as it was.
    if (mode !== 'admitIfClosed') {
      this.#lose({ kind: 'skipped', upstream, reason, waitMs, backAtTicks });
    }
    return null;
  }

  hasMore(): boolean {
    return this.#state.kind === 'ahead';
  }

  failed(_admitted: AdmittedCall, failure: Failure): void {
    this.#lose({ kind: 'failed', upstream: this.upstream, provider: null, failure });
  }

  hedgeLost(): void {
    this.#lose({ kind: 'hedge_lost', upstream: this.upstream, provider: null });
  }

  broken(): void {
    this.#state = LOST_SILENTLY;
  }

  close(): void {
    if (this.#state.kind !== 'lost') this.#state = LOST_SILENTLY;
  }

  isLost(): boolean {
    return this.#state.kind === 'lost';
  }

  outcomes(): readonly UpstreamOutcome[] {
    return this.#state.kind === 'lost' && this.#state.outcome !== null ? [this.#state.outcome] : [];
  }

  #lose(outcome: UpstreamOutcome): void {
    this.#state = { kind: 'lost', outcome };
  }
}
