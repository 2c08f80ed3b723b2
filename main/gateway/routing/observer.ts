import type { UpstreamId } from '#shared/ids.ts';
import type { AttemptCause, CircuitState, RequestCaller, RequestRow } from '#shared/live.ts';
import type { Tokens, TurnReading } from '#shared/usage.ts';
import type { FallbackReason } from '#shared/reasons.ts';
import type { DualTime } from '../../platform/clock.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { UpstreamOutcome } from './outcomes.ts';

// The port through which routing reports what it does. Observers decide nothing: routing is the same
// with or without one.

/** What the row of a request shows before it is routed. */
export interface RequestArrival {
  readonly id: string;
  /** Path of the endpoint at upstreams. */
  readonly upstreamPath: string;
  /** As the caller named it, which may be an alias. */
  readonly model: string | null;
  readonly stream: boolean;
  readonly caller: RequestCaller;
  readonly key: string | null;
}

export interface AttemptStart {
  readonly target: UpstreamCall;
  readonly cause: AttemptCause;
  /** What came of the upstreams that were asked before, or passed over. */
  readonly before: () => readonly UpstreamOutcome[];
  /** In clock ticks. */
  readonly startedAt: number;
  /** The ids whose permits the attempt holds: the upstream's, and in the local pool the machine's. */
  readonly ids: readonly string[];
  readonly circuit: CircuitState;
}

export interface AttemptEnd {
  readonly reason: FallbackReason | null;
  /** The failure in words that may be shown. */
  readonly error: string | null;
  readonly circuit: CircuitState;
  /** For the registry, which looks at a machine that fails several requests in a row. */
  readonly verdict: 'served' | 'failed' | 'neutral';
  readonly endedAt: DualTime;
  /** From the last call to the end of a served attempt; null for others. */
  readonly latencyMs: number | null;
  /** Null if nothing was used, as far as is known. */
  readonly tokens: Tokens | null;
  /** Tool calls that the answer had as text. */
  readonly repairedCalls: number;
  /** Why its engine read the prompt; null if nothing is to be explained. */
  readonly reading: TurnReading | null;
  /** The tokens that its engine has read of a longer prompt; null if it has read all, as far as is known. */
  readonly cutAtTokens: number | null;
  /** Aborted before anything of it had left: no upstream knows of it. */
  readonly isRecalled: boolean;
}

/** One attempt, from its first call to its end, which is reported once; the polls of a cold start are one attempt. */
export interface AttemptObserver {
  /** A further poll of a starting upstream, which does not count as a request. */
  polled(): void;
  /** The answer is being sent; first content came at `contentAt` clock ticks (null: it came as a whole). */
  answering(contentAt: number | null): void;
  /** `cameAt`: when data last came, in clock ticks; comments do not count. */
  relayed(events: number, cameAt: number): void;
  ended(end: AttemptEnd): void;
}

/** How a request ended. */
export type RequestEnd = Exclude<RequestRow['state'], 'running'>;

/** One chat completion: the upstreams called and the outcomes, never the content. */
export interface RequestObserver {
  /** Its first call was sent. */
  attemptStarted(start: AttemptStart): AttemptObserver;
  answering(head: {
    readonly status: number;
    readonly upstream: UpstreamId | null;
    readonly fallbackReason: string;
  }): void;
  ended(end: RequestEnd): void;
}
