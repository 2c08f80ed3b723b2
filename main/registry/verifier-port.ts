import type { AgentRecord } from '#shared/provider.ts';
import type { StoredVerification } from './store/store.ts';

/** What a heartbeat or the owner gave the verifier a reason to look at. */
export interface VerifierNews {
  /** It was enrolled, or enrolled again with a new gateway token. */
  readonly enrolled: boolean;
  /** Key, addresses, engine, model or GPU count are others: the registry has set it to `pending`. */
  readonly material: boolean;
  /** `engine_health.status` is another. */
  readonly engineHealth: boolean;
  /** It was started anew: its uptime fell. */
  readonly rebooted: boolean;
  /** It was `stale` or `offline` and has come back. */
  readonly returned: boolean;
  /** The owner asks for a run now, with a test inference; one that runs already counts. */
  readonly requested: boolean;
}

/** What the verifier offers the registry; no call waits for a run. */
export interface VerifierPort {
  /** Called after the change is on disk. */
  providerChanged(id: string, news: VerifierNews): void;
  /** The provider is gone: a run of it ends, its result is nobody's. */
  removed(id: string): void;
}

/** A provider as a verification run needs it. */
export interface VerificationSubject {
  readonly id: string;
  /** The 32 raw bytes of the ed25519 public key, base64url: `/health` must be signed by it. */
  readonly publicKey: string;
  /** Goes out as `X-Gateway-Token`; never into a detail or an error. */
  readonly gatewayToken: string;
  /** The record as last sent, capped and clamped. */
  readonly record: AgentRecord;
  readonly lastHeartbeatIp: string;
  /** The agent of this process: it may be reached at its engine directly. */
  readonly isOwn: boolean;
  /** Whether heartbeats come: one that is `stale`, `offline` or `paused` is not worth a run. */
  readonly isReachable: boolean;
  readonly verification: StoredVerification;
  /** Rises with each enrolment and material change; `verificationDone` gives it back. */
  readonly generation: number;
}

/** What became of a result: one of a provider that has changed meanwhile, or is gone, counts for nothing. */
export type Recorded =
  | { readonly kind: 'recorded' }
  | { readonly kind: 'outdated' }
  | { readonly kind: 'unwritten'; readonly message: string };

/** What the registry offers the verifier. */
export interface VerifierHost {
  /** Every provider that has sent a heartbeat. */
  subjects(): readonly VerificationSubject[];
  /** Null when it is unknown or has not sent a heartbeat yet. */
  subject(id: string): VerificationSubject | null;
  /** A run of a provider began or ended; shown as `verifying` unless the provider is `verified`. */
  verifying(id: string, running: boolean): void;
  /** Takes what is to be kept of a run; resolves once it is on disk. Also ends `verifying`. */
  verificationDone(
    id: string,
    generation: number,
    verification: StoredVerification,
  ): Promise<Recorded>;
}
