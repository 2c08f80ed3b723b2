import type { Judgement, Sightings } from './condition.ts';
import type { UpstreamId } from './ids.ts';
import type { VerificationState } from './provider.ts';
import type { AttemptRow, RequestRow } from './request-row.ts';
import type { StatusReport } from './status.ts';

export type { AttemptRow, RequestRow };

/** After a longer silence of the feed, proxies and sleeping tabs could drop the connection unnoticed. */
export const FEED_SIGN_MS = 15_000;

export type AttemptCause = AttemptRow['cause'];
/** `probing`: this call, or another one, tested the upstream after its cool-down. */
export type CircuitState = AttemptRow['circuitBefore'];
export type RequestCaller = RequestRow['caller'];

/** How requests end; one that the app cancelled has no outcome. */
export const OUTCOMES = ['first-choice', 'fell-back', 'failed'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Requests sent to one upstream, each counted once however many calls it took. */
export interface UpstreamTally {
  readonly asked: number;
  readonly answered: number;
  readonly retries: number;
  /** Further calls while it was starting. */
  readonly polls: number;
}

/** Since the data directory was created. */
export interface OutcomeCounts {
  readonly ended: Readonly<Record<Outcome, number>>;
  readonly upstreams: Readonly<Record<UpstreamId, UpstreamTally>>;
}

/** Requests that move on from an upstream again and again for the same unexplained words. */
export interface UnexplainedMove extends Pick<RequestRow, 'caller' | 'key'> {
  readonly upstream: UpstreamId;
  /** The upstream's own, of the last one. */
  readonly words: string;
  /** How many of the latest requests, within the last hour. */
  readonly count: number;
  /** What they have cost together, in billionths of the currency. */
  readonly spentNano: number;
}

/** Requests of the last hour that came with a wrong key or none. */
export interface KeyRefusals {
  readonly count: number;
  /** Wall-clock milliseconds since the epoch. */
  readonly lastAt: number;
  /** Null if its caller was gone. */
  readonly lastAddress: string | null;
}

/** The loads of several GPUs, in percent: their mean would be that of none. */
export interface LoadRange {
  readonly lowest: number;
  readonly highest: number;
}

/** Figures of the registry; `revision` changes whenever one of its records does. */
export interface ProvidersSummary extends Readonly<Record<VerificationState | 'count', number>> {
  readonly revision: number;
  /** Machines that routing may choose now. */
  readonly serving: number;
  /** Distinct models that these machines offer. */
  readonly models: number;
  /** The load of the least and of the most busy of their GPUs, in percent; null if none reports it. */
  readonly load: LoadRange | null;
}

interface LiveState {
  readonly status: StatusReport;
  /** Requests in progress per upstream. */
  readonly inFlight: Readonly<Record<UpstreamId, number>>;
  readonly sightings: Sightings;
  readonly judgement: Judgement;
  readonly app: AppInfo;
  readonly providers: ProvidersSummary;
  readonly outcomes: OutcomeCounts;
  readonly moves: readonly UnexplainedMove[];
  /** Null if there were none. */
  readonly keyRefusals: KeyRefusals | null;
}

export interface LiveSnapshot extends LiveState {
  readonly kind: 'snapshot';
  /** Newest first. */
  readonly requests: readonly RequestRow[];
}

/** A change since the last event; fields that did not change are left out. */
export interface LiveDelta extends Partial<LiveState> {
  readonly kind: 'delta';
  readonly upsert: readonly RequestRow[];
  readonly remove: readonly string[];
}

/** One event of `GET /api/v1/events`; at most four per second. */
export type LiveEvent = LiveSnapshot | LiveDelta;

/** A real call to one upstream, made for its owner and counted nowhere; times in milliseconds. */
export type UpstreamTest =
  | {
      readonly ok: true;
      /** Null if no model is set, so that only the list of models was asked for. */
      readonly model: string | null;
      readonly provider: string | null;
      /** Null if the answer was not streamed. */
      readonly ttftMs: number | null;
      readonly totalMs: number;
      /** Null if the upstream does not report them. */
      readonly promptTokens: number | null;
      readonly completionTokens: number | null;
    }
  | {
      readonly ok: false;
      /** A fallback reason, or `starting`: the owner's own engine is loading its model. */
      readonly reason: string;
      /** What went wrong, in the upstream's own words if it gave any. */
      readonly message: string;
      readonly totalMs: number;
    };

export interface AppInfo {
  readonly version: string;
  /** Base URL for clients, such as `http://localhost:47900/v1`. */
  readonly baseUrl: string;
  readonly warmupEnabled: boolean;
  /** How the command line is called here, such as `inglenook`. */
  readonly command: string;
  /** That of all prices, such as `USD`. */
  readonly currency: string;
  /** Present in the demo only. */
  readonly demo?: {
    readonly faults: DemoFaults;
    /** It sends a request every second by itself. */
    readonly traffic: boolean;
  };
}

/** `none` is healthy. */
export const DEMO_FAULTS = ['none', 'refuse', '429', '500', 'slow', 'cut', 'stall'] as const;

export type DemoFault = (typeof DEMO_FAULTS)[number];

export type DemoFaults = Readonly<Record<UpstreamId, DemoFault>>;

/**
 * How a request ended; null while it runs, or if the app cancelled it. It fell back if another upstream than the first
 * choice gave the answer or a part of it: the first choice is the first in its walk that is set up. Every count of fallbacks and
 * failures that people see comes from here; `fallbackCount` of the status report counts the header instead.
 */
export function outcomeOf({
  state,
  fallbackReason,
  attempts,
}: Pick<RequestRow, 'state' | 'fallbackReason' | 'attempts'>): Outcome | null {
  if (state === 'running' || state === 'cancelled') return null;
  if (state !== 'done') return 'failed';
  const isResumed = attempts.some(({ cause }) => cause === 'resume');
  return fallbackReason === 'none' && !isResumed ? 'first-choice' : 'fell-back';
}

type CallTimes = Pick<AttemptRow, 'startMs' | 'firstContentMs' | 'lastContentMs'>;

/** The time to first token of a call, wherever one is shown; null before it, and if the answer was not streamed. */
export function firstTokenMsOf({
  startMs,
  firstContentMs,
  lastContentMs,
}: CallTimes): number | null {
  return firstContentMs === null || lastContentMs === null ? null : firstContentMs - startMs;
}

/** Answers that came in less time came at once: their rate would be that of the network. */
const MIN_RATE_MS = 50;

/** Output tokens after the first, and the time from the first to the last. */
export interface TimedOutput {
  readonly tokens: number;
  readonly ms: number;
}

/** What the token rate of a call is taken from; null if the answer was not streamed, or came at once. */
export function timedOutputOf({
  tokens,
  firstContentMs,
  lastContentMs,
}: Pick<AttemptRow, 'tokens' | 'firstContentMs' | 'lastContentMs'>): TimedOutput | null {
  if (tokens === null || firstContentMs === null || lastContentMs === null) return null;
  const ms = lastContentMs - firstContentMs;
  return ms < MIN_RATE_MS || tokens.output < 2 ? null : { tokens: tokens.output - 1, ms };
}
