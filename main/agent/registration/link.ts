import type { PoolAnnouncement } from '#shared/pool.ts';
import type { Answer } from '../../platform/http/routes.ts';
import type { AgentRecord } from '#shared/provider.ts';

/** Why the registry did not accept a message. */
export type LinkFailure =
  /** The registry does not know this machine: it was removed there, or belongs to another gateway. */
  | { readonly kind: 'unknown_provider'; readonly message: string }
  /** Our sequence is refused even after we adopted the registry's. */
  | { readonly kind: 'sequence_reused'; readonly message: string }
  /** Our time is refused even after we adopted the registry's. */
  | { readonly kind: 'clock_skew'; readonly message: string }
  /** Any other refusal; only a person can fix it. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly code: string;
      readonly message: string;
    }
  /** The registry may accept the message later: 429, 503 and other server errors. */
  | { readonly kind: 'busy'; readonly message: string; readonly retryAfterMs: number | null }
  /** The answer does not come from a registry. */
  | { readonly kind: 'garbage'; readonly message: string }
  | { readonly kind: 'unreachable'; readonly message: string };

export interface RegistryView {
  readonly status: string;
  readonly verification: { readonly status: string; readonly failure_reason: string };
}

export type BeatOutcome =
  | {
      readonly kind: 'accepted';
      readonly standing: RegistryView;
      readonly heartbeatMs: number;
      /** Null if the gateway is in no pool. */
      readonly pool: PoolAnnouncement | null;
    }
  /** The heartbeat was received, but the registry cannot write; nothing can be done here. */
  | { readonly kind: 'unwritten'; readonly message: string }
  | LinkFailure;

export type EnrollOutcome =
  | {
      readonly kind: 'enrolled';
      readonly id: string;
      readonly gatewayToken: string;
      readonly pool: PoolAnnouncement | null;
    }
  | LinkFailure;

export interface SendLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A way to a registry: in this process, or over HTTP. Its methods never throw. */
export interface RegistryLink {
  /** Shown to the owner; null for the registry of this process. */
  readonly url: string | null;
  enroll(token: string, limits: SendLimits): Promise<EnrollOutcome>;
  beat(record: AgentRecord, limits: SendLimits): Promise<BeatOutcome>;
  /** Milliseconds by which this machine's clock is behind the registry's; 0 until a message is refused for it. */
  clockOffsetMs(): number;
}

/** The registry of this process, passed in by the composition root. */
export interface OwnRegistry {
  adopt(publicKey: string): Promise<{ readonly id: string; readonly gatewayToken: string }>;
  /** Null when `id` is not the adopted one. */
  heartbeat(
    id: string,
    record: AgentRecord,
  ): Promise<Answer<RegistryView & { readonly heartbeat_ms: number }> | null>;
}

/** The link to the registry of this process needs neither key nor network. */
export function createOwnLink(
  own: OwnRegistry,
  { id, publicKey }: { readonly id: string; readonly publicKey: string },
): RegistryLink {
  return {
    url: null,
    clockOffsetMs: () => 0,
    async enroll() {
      return { kind: 'enrolled', pool: null, ...(await own.adopt(publicKey)) };
    },
    async beat(record) {
      const answer = await own.heartbeat(id, record);
      if (answer === null) {
        // The owner has removed it from the list, so it is not enrolled again before the next start.
        const message = "This machine was removed from this gateway's list.";
        return { kind: 'unknown_provider', message };
      }
      if (answer.kind === 'refused') {
        const { status, code, message } = answer;
        if (code === 'registry_unwritten') return { kind: 'unwritten', message };
        return { kind: 'refused', status, code, message };
      }
      const { heartbeat_ms: heartbeatMs, status, verification } = answer.body;
      return { kind: 'accepted', standing: { status, verification }, heartbeatMs, pool: null };
    },
  };
}

/** Human-readable. A null remedy: there is nothing to do but wait. */
export interface LinkProblem {
  readonly happened: string;
  readonly remedy: string | null;
}

export function linkProblemOf(failure: LinkFailure): LinkProblem {
  return { happened: failure.message, remedy: remedyFor(failure) };
}

function remedyFor(failure: LinkFailure): string | null {
  switch (failure.kind) {
    case 'unknown_provider':
      return 'Join it again: on the gateway choose "Add a machine" and run the join command that it shows on this machine.';
    case 'sequence_reused':
      return "Another machine may use a copy of this agent's key. Delete the file agent-key.pem of one of them and join that one again.";
    case 'clock_skew':
      return "Set this machine's clock, or turn on time synchronisation.";
    case 'refused':
      return REFUSALS[failure.code] ?? 'Check that both programs have the same version.';
    case 'garbage':
      return 'Check the address of the gateway, and that nothing else listens there.';
    case 'unreachable':
      return 'Check that the gateway runs and that this machine can reach its address.';
    case 'busy':
      return null;
  }
}

const REFUSALS: Readonly<Record<string, string>> = {
  invalid_token:
    'Ask the owner of the gateway for a new join command: each works once, for an hour.',
  invalid_signature: 'Delete the file agent-key.pem in the data directory and join again.',
  other_pool:
    'Join this machine again with a new join command from a gateway of the pool it should belong to.',
  host_not_allowed:
    'Add the name in the address to SWITCHYARD_ALLOWED_HOSTS on the gateway, or join it by its IP address.',
  body_too_large: 'The record of this machine is too large; please report this.',
};
