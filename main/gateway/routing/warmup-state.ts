import type { WarmupState } from '#shared/status.ts';

/** Readiness of the on-demand upstream; times are clock ticks except `lastWarmupAt`. */
export interface Warmup {
  readonly state: WarmupState;
  /** Wall-clock time of the last start, milliseconds since the epoch. */
  readonly lastWarmupAt: number | null;
  readonly lastResult: string | null;
  readonly durationMs: number | null;
  readonly startedAt: number | null;
  /** The last warm-up that a request started. */
  readonly lastRoutingStartAt: number | null;
  readonly lastUsedAt: number | null;
  /** While `warming`: until when a start seen only by requests is assumed; null: a warm-up is running. */
  readonly seenUntil: number | null;
  /** While `warming`: when it was first seen to start; null while it has not put anybody off yet. */
  readonly coldSince: number | null;
  /** Of the last cold starts, milliseconds, newest first. */
  readonly coldStartsMs: readonly number[];
}

export const COLD: Warmup = {
  state: 'idle',
  lastWarmupAt: null,
  lastResult: null,
  durationMs: null,
  startedAt: null,
  lastRoutingStartAt: null,
  lastUsedAt: null,
  seenUntil: null,
  coldSince: null,
  coldStartsMs: [],
};

export const COLD_STARTS_KEPT = 5;

/** `ready` and `failed` return to `idle` after this long without use. */
const FADE_MS = 300_000;
/** Requests start at most one warm-up in this time; while hosted upstreams answer, in the longer one. */
const ROUTING_PAUSE_MS = 60_000;
const ROUTING_PAUSE_HOSTED_OK_MS = 600_000;

/** Requests poll a starting machine every 5 s at most: not seen for this long, no request is waiting for it. */
const SEEN_MS = 15_000;

/** The state at `now`, with expired states back at `idle`. */
export function warmupAt(warmup: Warmup, now: number): Warmup {
  if (warmup.state === 'warming' && warmup.seenUntil !== null && now >= warmup.seenUntil) {
    return { ...warmup, state: 'idle', seenUntil: null, coldSince: null };
  }
  if (warmup.state !== 'ready' && warmup.state !== 'failed') return warmup;
  const since = warmup.lastUsedAt ?? warmup.startedAt ?? now;
  return now - since >= FADE_MS ? { ...warmup, state: 'idle' } : warmup;
}

export function mayStartFromRouting(warmup: Warmup, now: number, hostedAnswers: boolean): boolean {
  const { state } = warmupAt(warmup, now);
  if (state === 'warming' || state === 'ready') return false;
  const pause = hostedAnswers ? ROUTING_PAUSE_HOSTED_OK_MS : ROUTING_PAUSE_MS;
  return warmup.lastRoutingStartAt === null || now - warmup.lastRoutingStartAt >= pause;
}

export function started(
  warmup: Warmup,
  at: { readonly now: number; readonly wallMs: number; readonly byRouting: boolean },
): Warmup {
  return {
    ...warmup,
    state: 'warming',
    lastWarmupAt: at.wallMs,
    startedAt: at.now,
    seenUntil: null,
    lastRoutingStartAt: at.byRouting ? at.now : warmup.lastRoutingStartAt,
  };
}

/** It said that it is starting. */
export function putOff(warmup: Warmup, now: number): Warmup {
  const current = warmupAt(warmup, now);
  return { ...current, coldSince: current.coldSince ?? now };
}

/** The cold start is over; with `ready` its duration is kept. */
function withoutStart(warmup: Warmup, now: number, ready: boolean): Warmup {
  const { coldSince, coldStartsMs } = warmupAt(warmup, now);
  if (coldSince === null || !ready) return { ...warmup, coldSince: null };
  const durations = [Math.round(now - coldSince), ...coldStartsMs].slice(0, COLD_STARTS_KEPT);
  return { ...warmup, coldSince: null, coldStartsMs: durations };
}

export interface ColdStart {
  readonly elapsedMs: number;
  /** The median of earlier ones; null before the first. */
  readonly usualMs: number | null;
}

/** The cold start that is going on; null while there is none. */
export function coldStartAt(warmup: Warmup, now: number): ColdStart | null {
  const { coldSince, coldStartsMs } = warmupAt(warmup, now);
  if (coldSince === null) return null;
  const sorted = coldStartsMs.toSorted((a, b) => a - b);
  return {
    elapsedMs: Math.round(now - coldSince),
    usualMs: sorted[Math.floor(sorted.length / 2)] ?? null,
  };
}

/** `result` is a short text for reports. */
export function ended(warmup: Warmup, now: number, ready: boolean, result: string): Warmup {
  return {
    ...withoutStart(warmup, now, ready),
    state: ready ? 'ready' : 'failed',
    lastResult: result,
    durationMs: warmup.startedAt === null ? null : Math.round(now - warmup.startedAt),
    lastUsedAt: now,
  };
}

/** A chat completion was answered, so it is up. */
export function used(warmup: Warmup, now: number): Warmup {
  return { ...withoutStart(warmup, now, true), state: 'ready', lastUsedAt: now };
}

/** It answered as a starting machine does: if it was ready, it was scaled down. */
export function seenStarting(warmup: Warmup, now: number): Warmup {
  const starting = putOff(warmup, now);
  const isRunning = warmup.state === 'warming' && warmup.seenUntil === null;
  if (isRunning) return starting;
  return { ...starting, state: 'warming', seenUntil: now + SEEN_MS };
}
