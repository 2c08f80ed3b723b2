import type { UpstreamId } from './ids.ts';
import type { FallbackReason } from './reasons.ts';
import type { StatusReport } from './status.ts';
import type { Tokens } from './usage.ts';

/**
 * Why a call was made: it was that upstream's turn, the one before was slow, or an answer that had begun
 * broke off and was to be carried on.
 */
export type AttemptCause = 'turn' | 'hedge' | 'resume';

/** Times are milliseconds since the request arrived. */
export interface AttemptRow {
  readonly upstream: UpstreamId;
  /** The machine of the local tier that was asked; null elsewhere. */
  readonly provider: string | null;
  readonly cause: AttemptCause;
  readonly startMs: number;
  /** Predicted time of the first content; null with too few samples. */
  readonly predictedMs: number | null;
  /** Further calls while it started; they are no requests. */
  readonly polls: number;
  /** First content, null while none has come. */
  readonly firstContentMs: number | null;
  /** Null while the attempt runs. */
  readonly endMs: number | null;
  /** Why it did not give the answer, or null: it did, or it still runs. */
  readonly reason: FallbackReason | null;
  /** Null while it runs, and where nothing was used. */
  readonly tokens: Tokens | null;
}

/** Never holds the prompt or the answer. */
export interface RequestRow {
  readonly id: string;
  /** Wall-clock milliseconds since the epoch. */
  readonly startedAt: number;
  readonly model: string | null;
  readonly stream: boolean;
  /** `broken`: the answer had begun and the upstream did not finish it. */
  readonly state: 'running' | 'done' | 'failed' | 'broken' | 'cancelled';
  /** The upstream that gave the answer, null while there is none. */
  readonly upstream: UpstreamId | null;
  /** HTTP status towards the caller, null before it is known. */
  readonly status: number | null;
  /** The `X-Gateway-Fallback-Reason` value so far. */
  readonly fallbackReason: string;
  /** Events relayed to the caller, about one a token; 0 for answers that were not streamed. */
  readonly events: number;
  readonly endMs: number | null;
  /** Of all its attempts, null before the first of them has ended. */
  readonly tokens: Tokens | null;
  /** At most the first 16 attempts; `attemptCount` has them all. */
  readonly attempts: readonly AttemptRow[];
  readonly attemptCount: number;
}

/** The registry in figures; `revision` changes whenever any of its records did. */
export interface ProvidersSummary {
  readonly revision: number;
  readonly count: number;
  readonly verified: number;
  readonly pending: number;
  readonly verifying: number;
  readonly failed: number;
}

export interface LiveSnapshot {
  readonly kind: 'snapshot';
  readonly status: StatusReport;
  /** Requests in progress per upstream. */
  readonly inFlight: Readonly<Record<UpstreamId, number>>;
  /** Newest first. */
  readonly requests: readonly RequestRow[];
  readonly app: AppInfo;
  readonly providers?: ProvidersSummary;
}

/** A change since the last event; fields that did not change are left out. */
export interface LiveDelta {
  readonly kind: 'delta';
  readonly status?: StatusReport;
  readonly inFlight?: Readonly<Record<UpstreamId, number>>;
  readonly upsert: readonly RequestRow[];
  readonly remove: readonly string[];
  readonly app?: AppInfo;
  readonly providers?: ProvidersSummary;
}

/** One event of `GET /api/v1/events`; at most four a second. */
export type LiveEvent = LiveSnapshot | LiveDelta;

export interface AppInfo {
  readonly version: string;
  /** Base URL for clients, such as `http://localhost:47900/v1`. */
  readonly baseUrl: string;
  readonly warmupEnabled: boolean;
  /** Present in the demo only. */
  readonly demo?: { readonly faults: Readonly<Record<UpstreamId, DemoFault>> };
}

/** `none` is healthy. */
export const DEMO_FAULTS = ['none', 'refuse', '429', '500', 'slow', 'cut', 'stall'] as const;

export type DemoFault = (typeof DEMO_FAULTS)[number];
