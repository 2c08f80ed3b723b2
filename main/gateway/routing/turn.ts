import type { UpstreamId } from '#shared/ids.ts';
import type { AdmissionMode } from '../circuits/circuits.ts';
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
  /** Before it is called. */
  waitMs = 0;
  /** Its last attempt; null until it was sent. */
  attempt: Attempt | null = null;
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
}
