import type { AgentRecord } from '#shared/provider.ts';

/** Why the registry did not take a message. */
export type LinkFailure =
  /** It does not know this machine: it was removed there, or belongs to another gateway. */
  | { readonly kind: 'unknown_provider'; readonly message: string }
  /** It goes on refusing our count although we followed it. */
  | { readonly kind: 'sequence_reused'; readonly message: string }
  /** It goes on refusing our time although we followed its own. */
  | { readonly kind: 'clock_skew'; readonly message: string }
  /** Any other refusal, which only a person can mend. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly code: string;
      readonly message: string;
    }
  /** It may take it later: 429, 503 and other errors of its own. */
  | { readonly kind: 'busy'; readonly message: string; readonly retryAfterMs: number | null }
  /** What answers there is no registry. */
  | { readonly kind: 'garbage'; readonly message: string }
  | { readonly kind: 'unreachable'; readonly message: string };

/** What the registry thinks of this machine. */
export interface Standing {
  readonly status: string;
  readonly verification: { readonly status: string; readonly failure_reason: string };
}

/** What came of a heartbeat. */
export type BeatOutcome =
  | { readonly kind: 'accepted'; readonly standing: Standing; readonly heartbeatMs: number }
  /** It was heard, but the registry's disk fails; nothing is to be done here. */
  | { readonly kind: 'unwritten'; readonly message: string }
  | LinkFailure;

/** What came of an enrolment. */
export type EnrollOutcome =
  { readonly kind: 'enrolled'; readonly id: string; readonly gatewayToken: string } | LinkFailure;

/** How one message is sent. */
export interface SendLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The way to a registry: in this process, or over HTTP. It never throws. */
export interface RegistryLink {
  /** Where it is, for people; null for the one in this process. */
  readonly url: string | null;
  enroll(token: string, limits: SendLimits): Promise<EnrollOutcome>;
  beat(record: AgentRecord, limits: SendLimits): Promise<BeatOutcome>;
  /** How far this machine's clock is behind the registry's, as far as that mattered; 0 when it did not. */
  clockOffsetMs(): number;
}

/** What the registry of this process offers, handed across by whoever holds both. */
export interface OwnRegistry {
  adopt(publicKey: string): Promise<{ readonly id: string; readonly gatewayToken: string }>;
  /** Null when `id` is not the adopted one. */
  heartbeat(id: string, record: AgentRecord): Promise<OwnAnswer | null>;
}

type OwnAnswer =
  | { readonly kind: 'answered'; readonly body: Standing & { readonly heartbeat_ms: number } }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly code: string;
      readonly message: string;
    };

/** The link to the registry of this process: no key, no network. */
export function createOwnLink(
  own: OwnRegistry,
  { id, publicKey }: { readonly id: string; readonly publicKey: string },
): RegistryLink {
  return {
    url: null,
    clockOffsetMs: () => 0,
    async enroll() {
      return { kind: 'enrolled', ...(await own.adopt(publicKey)) };
    },
    async beat(record) {
      const answer = await own.heartbeat(id, record);
      if (answer === null) {
        // Its owner has removed it from the list: taken up again at the next start, not behind their back.
        const message = 'This machine was removed from the list of this gateway.';
        return { kind: 'unknown_provider', message };
      }
      if (answer.kind === 'refused') {
        const { status, code, message } = answer;
        if (code === 'registry_unwritten') return { kind: 'unwritten', message };
        return { kind: 'refused', status, code, message };
      }
      const { heartbeat_ms: heartbeatMs, status, verification } = answer.body;
      return { kind: 'accepted', standing: { status, verification }, heartbeatMs };
    },
  };
}
