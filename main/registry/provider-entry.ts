import { createHmac, type KeyObject } from 'node:crypto';
import type { AgentRecord, ProviderStatus, VerificationState } from '#shared/provider.ts';
import { parsePublicKey } from '../platform/agent-identity.ts';
import { clamped } from './change-detection.ts';
import type { StoredProvider, StoredVerification } from './store/store.ts';

/** A provider in memory: what is kept of it, and what is known only while the registry runs. */
export interface Entry {
  readonly id: string;
  stored: StoredProvider;
  /** Null where the kept key is no key: nothing is signed by it. */
  readonly key: KeyObject | null;
  /** What the gateway shows the agent as `X-Gateway-Token`. */
  gatewayToken: string;
  /** The record with its claims clamped; null before the first heartbeat. */
  shown: AgentRecord | null;
  /** Clock ticks of the last heartbeat. */
  heardTicks: number;
  /** A verification run is on. */
  isVerifying: boolean;
  /** The agent of this process. */
  isOwn: boolean;
  /** Rises with each enrolment and material change. */
  generation: number;
  /** The status that the history tells last; null before the first. */
  toldStatus: ProviderStatus | null;
  /** The registry's revision at the last change. */
  version: number;
}

/** Before the first run, and after a change that makes the last one worthless. */
export const UNVERIFIED: StoredVerification = {
  state: 'pending',
  checks: [],
  lastCheckAt: null,
  lastInferenceAt: null,
  failedRuns: 0,
  address: null,
};

/** Takes a provider into memory. */
export function entryOf(
  stored: StoredProvider,
  { heardTicks, gatewaySecret }: { readonly heardTicks: number; readonly gatewaySecret: string },
): Entry {
  return {
    id: stored.id,
    stored,
    key: parsePublicKey(stored.publicKey)?.key ?? null,
    gatewayToken: gatewayTokenOf(gatewaySecret, stored),
    shown: stored.record === null ? null : clamped(stored.record),
    heardTicks,
    isVerifying: false,
    isOwn: false,
    generation: 0,
    toldStatus: null,
    version: 0,
  };
}

/** The bearer towards one agent: nobody who reads the database can make it. */
export function gatewayTokenOf(
  gatewaySecret: string,
  { id, tokenSalt }: Pick<StoredProvider, 'id' | 'tokenSalt'>,
): string {
  return createHmac('sha256', gatewaySecret)
    .update(id + tokenSalt)
    .digest('hex');
}

/** The state of its verification; a verified machine stays so while it is checked again. */
export function verificationStateOf({ stored, isVerifying }: Entry): VerificationState {
  const { state } = stored.verification;
  return isVerifying && state !== 'verified' ? 'verifying' : state;
}
