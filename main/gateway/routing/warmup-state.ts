import type { WarmupState } from '#shared/status.ts';

/** What is known of the on-demand upstream's readiness; times are clock ticks but for `lastWarmupAt`. */
export interface Warmup {
  readonly state: WarmupState;
  /** Wall-clock time of the last start, milliseconds since the epoch. */
  readonly lastWarmupAt: number | null;
  readonly lastResult: string | null;
  readonly durationMs: number | null;
  readonly startedAt: number | null;
  /** Last start that a request caused. */
  readonly lastRoutingStartAt: number | null;
  readonly lastUsedAt: number | null;
  /** Until when a start that only requests have seen counts as under way; null: a warm-up runs. */
  readonly seenUntil: number | null;
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
};

/** `ready` and `failed` return to `idle` after this long without use. */
const FADE_MS = 300_000;
/** Requests start at most one warm-up in this time; while hosted upstreams answer, one in the longer. */
const ROUTING_PAUSE_MS = 60_000;
const ROUTING_PAUSE_HOSTED_OK_MS = 600_000;

/** Requests poll a starting machine every 5 s at most; unseen for this long, nobody waits for it. */
const SEEN_MS = 15_000;

/** The state as it is at `now`, with fading applied. */
export function warmupAt(warmup: Warmup, now: number): Warmup {
  if (warmup.state === 'warming' && warmup.seenUntil !== null && now >= warmup.seenUntil) {
    return { ...warmup, state: 'idle', seenUntil: null };
  }
  if (warmup.state !== 'ready' && warmup.state !== 'failed') return warmup;
  const since = warmup.lastUsedAt ?? warmup.startedAt ?? now;
  return now - since >= FADE_MS ? { ...warmup, state: 'idle' } : warmup;
}

/** Whether a request may start a warm-up now. */
export function mayStartFromRouting(warmup: Warmup, now: number, hostedAnswers: boolean): boolean {
  const { state } = warmupAt(warmup, now);
  if (state === 'warming' || state === 'ready') return false;
  const pause = hostedAnswers ? ROUTING_PAUSE_HOSTED_OK_MS : ROUTING_PAUSE_MS;
  return warmup.lastRoutingStartAt === null || now - warmup.lastRoutingStartAt >= pause;
}

/** A start, by a request or by the owner. */
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

/** The end of a start; `result` in a few words for reports. */
export function ended(warmup: Warmup, now: number, ready: boolean, result: string): Warmup {
  return {
    ...warmup,
    state: ready ? 'ready' : 'failed',
    lastResult: result,
    durationMs: warmup.startedAt === null ? null : Math.round(now - warmup.startedAt),
    lastUsedAt: now,
  };
}

/** A chat completion was answered: whatever was believed, it is up. */
export function used(warmup: Warmup, now: number): Warmup {
  return { ...warmup, state: 'ready', lastUsedAt: now };
}

/** It answered as a machine does that is still starting: one that was ready has scaled down. */
export function seenStarting(warmup: Warmup, now: number): Warmup {
  const underWay = warmup.state === 'warming' && warmup.seenUntil === null;
  if (underWay) return warmup;
  return { ...warmup, state: 'warming', seenUntil: now + SEEN_MS };
}
