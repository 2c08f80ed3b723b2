import type { UpstreamId } from '#shared/ids.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { Failure } from '../upstream/failure.ts';
import type { UpstreamOutcome, Skipped } from './fallback-reasons.ts';
import type { Permits } from './attempts.ts';

/** How a circuit is entered: as usual, because somebody must be asked, or with a call that need not be sent. */
export type AdmissionMode = 'admit' | 'admitForced' | 'admitIfClosed';

/** A call that its circuits have let in. */
export interface AdmittedCall {
  readonly call: UpstreamCall;
  readonly permits: Permits;
}

/** Whether a call is of use to who asks for one. */
export type CallFilter = (call: UpstreamCall) => boolean;

/** One upstream on the way: a single call, in the local tier up to three in turn. Each leg is ended once. */
export interface Candidate {
  readonly upstream: UpstreamId;
  /** The next call to be made here; null: there is none, now or for this door. */
  next(mode: AdmissionMode, filter: CallFilter): AdmittedCall | null;
  /** Whether anybody may still be asked here, as far as one can tell without asking its circuit. */
  hasMore(): boolean;
  failed(admitted: AdmittedCall, failure: Failure): void;
  /** Another one's content came first. */
  outrun(admitted: AdmittedCall): void;
  /** Its answer had begun and broke off. */
  broken(): void;
  /** Nothing more will be asked here. */
  close(): void;
  /** Nothing runs here and nothing is to be asked any more: it is lost. */
  isLost(): boolean;
  /** What there is to say of it, in the order of its calls, before the one that answers. */
  outcomes(until: AdmittedCall | null): readonly UpstreamOutcome[];
}

/** An upstream that is not asked at all. */
export class SkippedCandidate implements Candidate {
  readonly #skipped: Skipped;

  constructor(upstream: UpstreamId, reason: Skipped['reason']) {
    this.#skipped = { kind: 'skipped', upstream, reason, waitMs: null, backAtTicks: null };
  }

  get upstream(): UpstreamId {
    return this.#skipped.upstream;
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
    return [this.#skipped];
  }

  close(): void {
    // Nothing was begun.
  }

  failed(): never {
    throw new Error('no call was given out here');
  }

  outrun(): never {
    return this.failed();
  }

  broken(): never {
    return this.failed();
  }
}

/** An upstream that takes one call. */
export class SingleCandidate implements Candidate {
  readonly #call: UpstreamCall;
  readonly #circuits: Circuits;
  readonly #epoch: number;
  #state: 'ahead' | 'asked' | 'lost' = 'ahead';
  #outcome: UpstreamOutcome | null = null;

  constructor(call: UpstreamCall, circuits: Circuits, epoch: number) {
    this.#call = call;
    this.#circuits = circuits;
    this.#epoch = epoch;
  }

  get upstream(): UpstreamId {
    return this.#call.upstream;
  }

  next(mode: AdmissionMode, filter: CallFilter): AdmittedCall | null {
    const { upstream } = this;
    if (this.#state !== 'ahead' || !filter(this.#call)) return null;
    const entry = this.#circuits[mode](upstream, this.#call, this.#epoch);
    if (entry.kind === 'admitted') {
      this.#state = 'asked';
      const own = { id: upstream, permit: entry.permit };
      return { call: this.#call, permits: { own, pool: null } };
    }
    const { reason, waitMs, backAtTicks } = entry;
    // A hedge passes by; its turn may still come.
    if (mode !== 'admitIfClosed') {
      this.#lose({ kind: 'skipped', upstream, reason, waitMs, backAtTicks });
    }
    return null;
  }

  hasMore(): boolean {
    return this.#state === 'ahead';
  }

  failed(_leg: AdmittedCall, failure: Failure): void {
    this.#lose({ kind: 'failed', upstream: this.upstream, provider: null, failure });
  }

  outrun(): void {
    this.#lose({ kind: 'outrun', upstream: this.upstream, provider: null });
  }

  broken(): void {
    this.#lose(null);
  }

  close(): void {
    this.#state = 'lost';
  }

  isLost(): boolean {
    return this.#state === 'lost';
  }

  outcomes(): readonly UpstreamOutcome[] {
    return this.#outcome === null ? [] : [this.#outcome];
  }

  #lose(outcome: UpstreamOutcome | null): void {
    this.#state = 'lost';
    this.#outcome = outcome;
  }
}
