import type { UpstreamId } from '#shared/ids.ts';
import type { AttemptRow, RequestRow } from '#shared/live.ts';
import type { Clock } from '../../platform/clock.ts';
import type { AnswerMode } from '../attempt.ts';
import type { Circuits } from '../circuit/circuits.ts';
import type { Result } from '../circuit/results.ts';
import type { Predictions } from '../local/predictions.ts';
import type { Failure } from '../outcome/outcomes.ts';
import type { Latencies } from './latencies.ts';
import type { Stats } from './stats.ts';

/**
 * What is written down of one call to one upstream, for the window and for its circuit; exactly one
 * of the last five ends it.
 */
export interface AttemptLog {
  /** The answer goes out; its first content came at `contentAt` clock ticks (null: it came as a whole). */
  answering(contentAt: number | null): void;
  relayed(events: number): void;
  /** `wasSilent`: its time-out went by without content. */
  failed(failure: Failure, wasSilent: boolean): void;
  /** The upstream is still starting: what it said counts for nothing, and it is asked again. */
  starting(): void;
  succeeded(): void;
  /** The answer had begun and was not finished. */
  broken(detail: string): void;
  cancelled(): void;
}

/** A row that is still written. */
export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
/** A row while it is written. */
export type MutableRow = Mutable<Omit<RequestRow, 'attempts'>> & {
  attempts: Mutable<AttemptRow>[];
};

/** Whom an attempt asks. */
export interface Asked {
  readonly upstream: UpstreamId;
  /** The machine of the local tier; null elsewhere. */
  readonly provider: string | null;
  readonly promptBytes: number;
  readonly mode: AnswerMode;
}

/** Hears how a provider did with a request; refusals that blame nobody are left out. */
export type Routed = (provider: string, result: 'served' | 'failed') => void;

/** What an attempt is written down with, and who hears of it. */
export interface AttemptLogDeps {
  readonly clock: Clock;
  readonly stats: Stats;
  readonly circuits: Circuits;
  readonly latencies: Latencies;
  readonly predictions: Predictions;
  readonly routed: Routed;
  readonly changed: (id: string) => void;
}

/**
 * Whether an id that a call was sent to has been forgotten since: a provider that was removed. What comes
 * of the call is nobody's any more, and would bring it back.
 */
export function isForgotten(id: string, circuits: Circuits): boolean {
  return circuits.at(id).breaker.health.requests === 0;
}

/** Says nothing about an upstream's health. */
export const NEUTRAL: Result = { kind: 'neutral' };

/** How a failure counts in the circuit; `took` is the attempt's time, and how much of it was waited in vain. */
export function resultOf(
  { mark, reason, detail }: Failure,
  took: { readonly ms: number; readonly silentMs: number },
): Result {
  if (mark === 'neutral') return NEUTRAL;
  return {
    kind: 'failure',
    error: `${reason}: ${detail}`,
    silentMs: took.silentMs,
    costMs: reason === 'timeout' ? Number.POSITIVE_INFINITY : took.ms,
  };
}
