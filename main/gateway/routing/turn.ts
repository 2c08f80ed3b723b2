import type { UpstreamId } from '#shared/ids.ts';
import type { AdmissionMode, Circuits } from '../circuits/circuits.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { Attempt, Permits } from './attempt.ts';
import type { EndedCall } from './outcomes.ts';

/** A call that a circuit admitted; with its retries and polls one turn of its upstream. */
export class Turn {
  readonly call: UpstreamCall;
  /** In routing order; those of the local pool share theirs. */
  readonly place: number;
  readonly mode: AdmissionMode;
  /** When it was admitted, in clock ticks. */
  readonly at: number;
  permits: Permits;
  /** Its last attempt; null until it was sent. */
  attempt: Attempt | null = null;
  /** It was called once more after a wait that it asked for. */
  hasWaited = false;
  /** False once it has failed, or its answer has broken off. */
  isRunning = true;
  /** Null while it is running, and if it answered. */
  outcome: EndedCall | null = null;

  constructor(admitted: Pick<Turn, 'call' | 'place' | 'mode' | 'at'>, permits: Permits) {
    this.call = admitted.call;
    this.place = admitted.place;
    this.mode = admitted.mode;
    this.at = admitted.at;
    this.permits = permits;
  }

  get upstream(): UpstreamId {
    return this.call.upstream;
  }

  end(outcome: EndedCall | null): void {
    this.isRunning = false;
    this.outcome = outcome;
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
    this.permits = { ...this.permits, own: { id, permit: admission.permit } };
    return true;
  }
}
