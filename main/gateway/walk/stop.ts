import type { UpstreamId } from '#shared/ids.ts';
import type { Pass } from '../asking.ts';
import type { Circuits } from '../circuit/circuits.ts';
import type { Failure } from '../outcome/outcomes.ts';
import type { Left, Skipped } from '../outcome/trail.ts';
import type { UpstreamCall } from '../request/calls.ts';

/** How a circuit is entered: as usual, because somebody must be asked, or with a call that need not be sent. */
export type Door = 'enter' | 'enterAnyway' | 'enterClosed';

/** A call that its circuits have let in. */
export interface Leg {
  readonly call: UpstreamCall;
  readonly pass: Pass;
}

/** Whether a call is of use to who asks for one. */
export type Wanted = (call: UpstreamCall) => boolean;

/** One upstream on the way: a single call, in the local tier up to three in turn. Each leg is ended once. */
export interface Stop {
  readonly upstream: UpstreamId;
  /** The next call to be made here; null: there is none, now or for this door. */
  next(door: Door, wanted: Wanted): Leg | null;
  /** Whether anybody may still be asked here, as far as one can tell without asking its circuit. */
  hasMore(): boolean;
  failed(leg: Leg, failure: Failure): void;
  /** Another one's content came first. */
  outrun(leg: Leg): void;
  /** Its answer had begun and broke off. */
  broken(): void;
  /** Nothing more will be asked here. */
  close(): void;
  /** Nothing runs here and nothing is to be asked any more: it is lost. */
  isLost(): boolean;
  /** What there is to say of it, in the order of its calls, before the one that answers. */
  left(until: Leg | null): readonly Left[];
}

/** An upstream that is not asked at all. */
export class SkippedStop implements Stop {
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

  left(): readonly Left[] {
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
export class SingleStop implements Stop {
  readonly #call: UpstreamCall;
  readonly #circuits: Circuits;
  readonly #epoch: number;
  #state: 'ahead' | 'asked' | 'lost' = 'ahead';
  #left: Left | null = null;

  constructor(call: UpstreamCall, circuits: Circuits, epoch: number) {
    this.#call = call;
    this.#circuits = circuits;
    this.#epoch = epoch;
  }

  get upstream(): UpstreamId {
    return this.#call.upstream;
  }

  next(door: Door, wanted: Wanted): Leg | null {
    const { upstream } = this;
    if (this.#state !== 'ahead' || !wanted(this.#call)) return null;
    const entry = this.#circuits[door](upstream, this.#call, this.#epoch);
    if (entry.kind === 'admitted') {
      this.#state = 'asked';
      const own = { id: upstream, ticket: entry.ticket };
      return { call: this.#call, pass: { own, tier: null } };
    }
    const { reason, waitMs, backAtTicks } = entry;
    // A hedge passes by; its turn may still come.
    if (door !== 'enterClosed') {
      this.#lose({ kind: 'skipped', upstream, reason, waitMs, backAtTicks });
    }
    return null;
  }

  hasMore(): boolean {
    return this.#state === 'ahead';
  }

  failed(_leg: Leg, failure: Failure): void {
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

  left(): readonly Left[] {
    return this.#left === null ? [] : [this.#left];
  }

  #lose(left: Left | null): void {
    this.#state = 'lost';
    this.#left = left;
  }
}
