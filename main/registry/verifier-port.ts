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
