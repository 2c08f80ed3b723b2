import type { KeyObject } from 'node:crypto';
import type { AgentRecord } from '#shared/provider.ts';
import type { StoredProvider, StoredVerification } from './store/store.ts';

/** Why the verifier should check a provider again. */
export type VerifierNews =
  /** Enrolled, or enrolled again with a new gateway token. */
  | 'enrolled'
  /** Key, addresses, engine, model or GPU count have changed: the registry has set it to `pending`. */
  | 'material'
  /** `engine_health.status` has changed. */
  | 'engineHealth'
  /** Its uptime has decreased. */
  | 'rebooted'
  /** Its engine has lost what it had read: it was gone, or has another model in memory or none; not checked for that. */
  | 'emptied'
  /** It is back after being `stale` or `offline`, or this computer was asleep. */
  | 'returned'
  /** Another gateway has written a result, or a machine that is new here. */
  | 'verified'
  /** The owner requests a run now, with a test inference; a run in progress counts. */
  | 'requested';

/** The verifier as the registry sees it; no call waits for a run. */
export interface VerifierPort {
  /** Called after the change is on disk. */
  providerChanged(id: string, news: readonly VerifierNews[]): void;
  /** The provider was removed, so its run is aborted. */
  removed(id: string): void;
}

/** A provider as a verification run sees it. */
export interface VerificationSubject extends Pick<
  StoredProvider,
  'id' | 'lastHeartbeatIp' | 'verification'
> {
  readonly key: KeyObject;
  /** Sent as `X-Gateway-Token`; never part of a detail or an error. */
  readonly gatewayToken: string;
  /** As last sent, clamped. */
  readonly record: AgentRecord;
  /** The agent of this process, which may be reached on loopback. */
  readonly isOwn: boolean;
  /** False while it is `stale`, `offline` or `paused`, when a run would be wasted. */
  readonly isReachable: boolean;
  /** How many material changes the provider has had; `verificationDone` compares it. */
  readonly materialChanges: number;
}

/** `outdated`: the provider has changed in the meantime or was removed, so the result is ignored. */
export type RecordResult =
  | { readonly kind: 'recorded' | 'outdated' }
  | { readonly kind: 'unwritten'; readonly message: string };

/** The registry as the verifier sees it. */
export interface VerifierHost {
  /** Every provider that has sent a heartbeat. */
  subjects(): readonly VerificationSubject[];
  /** Null if it is unknown or has not sent a heartbeat yet. */
  subject(id: string): VerificationSubject | null;
  /** A run started or ended; shown as `verifying` unless the provider is `verified`. */
  verifying(id: string, running: boolean): void;
  /**
   * Takes the right to verify a provider, which one gateway has at a time; the returned function gives it back. Null if
   * another one has it.
   */
  lease(id: string): Promise<(() => void) | null>;
  /** Stores the result of a run; resolves once it is on disk. Also ends `verifying`. */
  verificationDone(
    id: string,
    materialChanges: number,
    verification: StoredVerification,
  ): Promise<RecordResult>;
}
