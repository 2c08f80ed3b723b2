import type { BeatOutcome } from '../registry-link.ts';

/** What the next pause depends on. */
export interface Pace {
  /** What this agent's settings say. */
  readonly heartbeatMs: number;
  /** Failures in a row, the last one included. */
  readonly failures: number;
  /** In [0, 1). */
  readonly random: number;
}

/** Each pause is up to a tenth shorter or longer, so that machines started together do not stay together. */
const JITTER = 0.1;
const BACKOFF_MIN_MS = 1000;
const BACKOFF_MAX_MS = 60_000;
/** What a registry may ask for: it counts a machine as silent after 45 s. */
const ASKED_MIN_MS = 1000;
const ASKED_MAX_MS = 30_000;

/** How long to wait after an outcome. */
export function pauseAfter(outcome: BeatOutcome, pace: Pace): number {
  switch (outcome.kind) {
    case 'accepted':
      return jittered(Math.min(pace.heartbeatMs, asked(outcome.heartbeatMs)), pace.random);
    case 'unwritten':
      return jittered(pace.heartbeatMs, pace.random);
    case 'unknown_provider':
      // Only a person can mend this; the registry need not hear it every second.
      return jittered(BACKOFF_MAX_MS, pace.random);
    case 'busy':
      return Math.max(backoff(pace), Math.min(outcome.retryAfterMs ?? 0, BACKOFF_MAX_MS));
    default:
      return backoff(pace);
  }
}

function jittered(ms: number, random: number): number {
  return Math.round(ms * (1 - JITTER + 2 * JITTER * random));
}

function asked(ms: number): number {
  return Math.min(Math.max(ms, ASKED_MIN_MS), ASKED_MAX_MS);
}

/** Full jitter, over a range that doubles with each failure. */
function backoff({ failures, random }: Pace): number {
  const ceiling = Math.min(BACKOFF_MIN_MS * 2 ** failures, BACKOFF_MAX_MS);
  return Math.round(BACKOFF_MIN_MS + random * (ceiling - BACKOFF_MIN_MS));
}
