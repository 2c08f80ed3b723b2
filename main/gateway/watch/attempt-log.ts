import type { UpstreamId } from '#shared/ids.ts';
import type { AttemptCause, AttemptRow, RequestRow } from '#shared/live.ts';
import { OUTRUN, type FallbackReason } from '#shared/reasons.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Pass } from '../asking.ts';
import type { AnswerMode } from '../attempt.ts';
import type { Ticket } from '../circuit/breaker.ts';
import type { Admitted, Circuits } from '../circuit/circuits.ts';
import type { Result } from '../circuit/results.ts';
import type { Prediction } from '../local/prediction.ts';
import type { Predictions } from '../local/predictions.ts';
import { slowTtftMs } from '../local/slow.ts';
import type { Failure } from '../outcome/outcomes.ts';
import type { Latencies } from './latencies.ts';
import type { Stats } from './stats.ts';

/**
 * What is written down of one call to one upstream, for the window and for its circuit; exactly one
 * of the last five ends it.
 */
export interface AttemptLog {
  /** First content is there, at `contentAt` clock ticks (null: it came as a whole). */
  answering(contentAt: number | null): void;
  relayed(events: number): void;
  failed(failure: Failure): void;
  /** The upstream is still starting: what it said counts for nothing, and it is asked again. */
  starting(): void;
  succeeded(): void;
  /** The answer had begun and was not finished. */
  broken(detail: string): void;
  cancelled(): void;
}

/** Attempts that are kept of one request; the polls of a cold start are one. */
const KEPT_ATTEMPTS = 16;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
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

/** An attempt that has not ended: its row and where it was let in. */
export interface OpenAttempt {
  readonly asked: Asked;
  readonly pass: Pass;
  readonly row: Mutable<AttemptRow>;
  /** Null where it is not an own machine, or too little is known of it. */
  readonly prediction: Prediction | null;
  /** When the last call was sent, in clock ticks. */
  sentAt: number;
  /** With `forTier` the result is the whole tier's as well: nobody else of it is asked any more. */
  end(reason: FallbackReason | null, result: Result, forTier: boolean): void;
}

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

/** Opens an attempt in `row`, whose request came in at `begunAt` clock ticks. */
export function openAttempt(
  asked: Asked,
  { pass, cause }: { readonly pass: Pass; readonly cause: AttemptCause },
  { row, begunAt }: { readonly row: MutableRow; readonly begunAt: number },
  { clock, stats, circuits, predictions, routed, changed }: AttemptLogDeps,
): OpenAttempt {
  const { upstream, provider, promptBytes } = asked;
  const sinceBegin = () => Math.round(clock.ticks() - begunAt);
  const prediction = upstream === 'local' ? predictions.at(pass.own.id, promptBytes) : null;
  const startMs = sinceBegin();
  const attempt: Mutable<AttemptRow> = {
    upstream,
    provider,
    cause,
    startMs,
    predictedMs: prediction === null ? null : startMs + Math.round(prediction.ttftMs),
    firstContentMs: null,
    endMs: null,
    reason: null,
  };
  if (row.attempts.length < KEPT_ATTEMPTS) row.attempts.push(attempt);
  for (const { id } of admittedBy(pass)) stats.entered(id);
  return {
    asked,
    pass,
    row: attempt,
    prediction,
    sentAt: clock.ticks(),
    end(reason, result, forTier) {
      if (attempt.endMs !== null) return;
      attempt.endMs = sinceBegin();
      attempt.reason = reason;
      for (const { id } of admittedBy(pass)) stats.left(id);
      for (const { id, ticket } of forTier ? admittedBy(pass) : [pass.own]) {
        if (!isForgotten(id, circuits)) circuits.record(id, ticket, result);
      }
      if (provider !== null && result.kind !== 'neutral') {
        routed(provider, result.kind === 'success' ? 'served' : 'failed');
      }
      changed(row.id);
    },
  };
}

/** Everywhere that a call was let in: at the upstream, and in the local tier at the provider too. */
function admittedBy({ own, tier }: Pass): readonly Admitted[] {
  return tier === null ? [own] : [own, tier];
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

/** The log of one call within an open attempt; the polls of a cold start share one. */
export function callLog(
  open: OpenAttempt,
  { row, begunAt }: { readonly row: MutableRow; readonly begunAt: number },
  { clock, stats, circuits, latencies, predictions, changed }: AttemptLogDeps,
): AttemptLog {
  const admitted = admittedBy(open.pass);
  const startedAt = clock.ticks();
  open.sentAt = startedAt;
  row.attemptCount += 1;
  for (const { id } of admitted) circuits.sent(id);
  changed(row.id);
  return {
    answering(contentAt) {
      // Outrun in this very turn: it has been counted.
      if (open.row.endMs !== null) return;
      open.row.firstContentMs = Math.round((contentAt ?? clock.ticks()) - begunAt);
      if (open.row.cause === 'resume') stats.handedOver();
      if (contentAt !== null) {
        const ttftMs = contentAt - startedAt;
        const { own, tier } = open.pass;
        const { upstream, promptBytes } = open.asked;
        if (!isForgotten(own.id, circuits)) {
          const slowMs = slowTtftMs(ttftMs, open.prediction);
          circuits.firstContent(own.id, own.ticket, { ttftMs, slowMs });
          if (upstream === 'local') predictions.sample(own.id, promptBytes, ttftMs);
        }
        if (tier !== null) {
          const ticket = tierTicket(tier, circuits);
          circuits.firstContent(tier.id, ticket, { ttftMs, slowMs: ttftMs });
        }
      }
      changed(row.id);
    },
    relayed(events) {
      row.events += events;
      changed(row.id);
    },
    failed: (failure) => open.end(failure.reason, resultOf(failure), false),
    starting: () => changed(row.id),
    succeeded() {
      const { provider } = open.asked;
      if (provider !== null && !isForgotten(provider, circuits)) {
        latencies.sample(provider, clock.ticks() - startedAt);
      }
      open.end(null, { kind: 'success' }, true);
    },
    broken(detail) {
      const error = `bad_response: the stream broke off, ${detail}`;
      open.end('bad_response', { kind: 'failure', error }, true);
    },
    cancelled: () => open.end(null, NEUTRAL, true),
  };
}

/** Bears on no breaker: what comes with it counts in the means alone. */
const UNJUDGED: Ticket = { serial: -1 };

/**
 * With what a tier hears of first content. That it was slow is the machine's own affair, and its circuit
 * sees to it: another may be fast. But a probe must be heard of.
 */
function tierTicket({ id, ticket }: Admitted, circuits: Circuits): Ticket {
  return circuits.at(id).breaker.gate.kind === 'probing' ? ticket : UNJUDGED;
}

/** Ends an attempt because another one's content came first; it only counts that it was slow. */
export function endOutrun(open: OpenAttempt, deps: AttemptLogDeps): void {
  const { clock, circuits, predictions } = deps;
  const { own } = open.pass;
  if (open.row.endMs !== null) return;
  // Of an answer that comes as a whole nobody knows when its content began.
  const isSilent = open.row.firstContentMs === null && open.asked.mode !== 'whole';
  if (isSilent && !isForgotten(own.id, circuits)) {
    const silentMs = clock.ticks() - open.sentAt;
    const slowMs = slowTtftMs(silentMs, open.prediction);
    circuits.outrun(own.id, own.ticket, { silentMs, slowMs });
    // A hedge may have had less time than the slow line; for one whose turn it was it has gone by.
    if (open.row.cause === 'turn') predictions.confirm(own.id);
  }
  open.end(OUTRUN, NEUTRAL, false);
}

/** How a failure counts in the circuit. */
export function resultOf({ mark, reason, detail }: Failure): Result {
  return mark === 'neutral' ? NEUTRAL : { kind: 'failure', error: `${reason}: ${detail}` };
}
