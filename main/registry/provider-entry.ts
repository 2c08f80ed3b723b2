import { createHmac, type KeyObject } from 'node:crypto';
import type { AgentRecord, ProviderStatus, VerificationState } from '#shared/provider.ts';
import { parsePublicKey } from '../platform/agent-identity.ts';
import { clamped } from './change-detection.ts';
import type { StoredProvider } from './store/store.ts';

/** A provider in memory: its stored part, and the state that exists only while the registry runs. */
export interface TableEntry {
  readonly id: string;
  stored: StoredProvider;
  /** Null if the stored key is malformed; then no signature is valid. */
  readonly key: KeyObject | null;
  /** Sent to the agent as `X-Gateway-Token`. */
  gatewayToken: string;
  /** The record with its claims clamped; null before the first heartbeat. */
  shown: AgentRecord | null;
  /** The sequence of the last heartbeat or a later enrolment; `stored.sequence` may be that of a refused message. */
  heardSequence: number;
  /** Whether the last heartbeat was sent to this gateway rather than another one of its pool. */
  isHeardHere: boolean;
  /** Whether the last verdict is this gateway's. */
  isVerifiedHere: boolean;
  /** Clock ticks of the last heartbeat. */
  lastHeartbeatTicks: number;
  /** No heartbeat has arrived since this computer woke from sleep. */
  isAwaited: boolean;
  /** A verification run is in progress. */
  isVerifying: boolean;
  /** The agent of this process. */
  isOwn: boolean;
  /** Rises with each enrolment and material change. */
  generation: number;
  /** The last status in the history; null before the first. */
  notedStatus: ProviderStatus | null;
  /** The pool's revision when this was last read or enrolled: 0 after the start, null during the enrolment. */
  poolRevision: number | null;
  /** The registry's revision at the provider's last change. */
  version: number;
}

export function entryOf(
  stored: StoredProvider,
  {
    lastHeartbeatTicks,
    gatewaySecret,
  }: { readonly lastHeartbeatTicks: number; readonly gatewaySecret: string },
): TableEntry {
  return {
    id: stored.id,
    stored,
    key: parsePublicKey(stored.publicKey)?.key ?? null,
    gatewayToken: gatewayTokenOf(gatewaySecret, stored),
    shown: stored.record === null ? null : clamped(stored.record),
    heardSequence: stored.sequence,
    isHeardHere: false,
    isVerifiedHere: false,
    lastHeartbeatTicks,
    isAwaited: false,
    isVerifying: false,
    isOwn: false,
    generation: 0,
    notedStatus: null,
    poolRevision: 0,
    version: 0,
  };
}

/** The bearer token for one agent, which cannot be derived from the database alone. */
export function gatewayTokenOf(
  gatewaySecret: string,
  { id, tokenSalt }: Pick<StoredProvider, 'id' | 'tokenSalt'>,
): string {
  return createHmac('sha256', gatewaySecret)
    .update(id + tokenSalt)
    .digest('hex');
}

/** A verified machine stays `verified` while it is checked again. */
export function verificationStateOf({ stored, isVerifying }: TableEntry): VerificationState {
  const { state } = stored.verification;
  return isVerifying && state !== 'verified' ? 'verifying' : state;
}

/**
 * The agent of this process exists by default, so it is expected to serve only once it has a model, or an engine that
 * answers, even if only to request a key.
 */
export function isNotExpected({ shown, isOwn }: TableEntry): boolean {
  if (!isOwn) return false;
  return shown === null || (shown.models.length === 0 && shown.engine_health.code === 0);
}
