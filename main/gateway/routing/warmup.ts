import type { FailureReason } from '#shared/reasons.ts';
import type { WarmupState } from '#shared/status.ts';
import { type DualTime, dualTimeOf, sleep } from '../../platform/clock.ts';
import type { FetchEdges, FetchResult } from '../../platform/http/fetch-body.ts';
import { getHealth } from '../upstream/own-requests.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';

export type WarmupRunner = ReturnType<typeof createWarmup>;

/** For one health request; a cold start is polled rather than awaited on one socket. */
const POLL_TIMEOUT_MS = 10_000;
const MAX_HEALTH_BYTES = 1024 * 1024;

/** `changed` is called after each change of state. */
export function createWarmup(edges: FetchEdges, changed: () => void) {
  const { clock } = edges;
  let warmup: Warmup = COLD;
  let wasReached = false;
  let running = new AbortController();

  function set(next: Warmup): void {
    warmup = next;
    changed();
  }

  const view = () => warmupAt(warmup, clock.ticks());

  function begin(upstream: RemoteUpstream, byRouting: boolean): void {
    running.abort();
    running = new AbortController();
    set(started(warmup, dualTimeOf(clock), byRouting));
    void poll(upstream, running.signal);
  }

  async function poll(upstream: RemoteUpstream, signal: AbortSignal): Promise<void> {
    const deadline = clock.ticks() + upstream.timeoutMs;
    for (let polls = 0; !signal.aborted; polls += 1) {
      const timeoutMs = Math.min(POLL_TIMEOUT_MS, deadline - clock.ticks());
      const limits = { timeoutMs, maxBytes: MAX_HEALTH_BYTES };
      const verdict = verdictOf(await getHealth(upstream, limits, edges));
      if (signal.aborted) return;
      if (verdict.kind === 'ready') wasReached = true;
      const pauseMs = pollPauseMs(polls, deadline - clock.ticks());
      if (verdict.kind !== 'starting' || pauseMs === null) {
        set(ended(warmup, clock.ticks(), verdict.kind === 'ready', verdict.detail));
        return;
      }
      set(putOff(warmup, clock.ticks()));
      await sleep(clock, pauseMs, signal);
    }
  }

  return {
    /**
     * For a request that lost `local`: starts unless one was started recently. `hostedAtMs`: when the last call began that
     * a hosted upstream has answered.
     */
    startFromRouting(upstream: RemoteUpstream, hostedAtMs: number) {
      if (mayStartFromRouting(warmup, clock.ticks(), hostedAtMs)) begin(upstream, true);
    },
    /** Starts it at the owner's request. */
    start(upstream: RemoteUpstream) {
      // Single flight: a running warm-up serves this request too.
      if (warmup.state !== 'warming' || warmup.seenUntil !== null) begin(upstream, false);
    },
    /** It answered a chat completion. */
    used() {
      running.abort();
      wasReached = true;
      set(used(warmup, clock.ticks()));
    },
    /** It answered a chat completion as a starting machine does. */
    seenStarting: () => set(seenStarting(warmup, clock.ticks())),
    forget() {
      running.abort();
      wasReached = false;
      set(COLD);
    },
    /** Whether a failure of it for this reason only means that it is still starting. */
    isStarting(reason: FailureReason): boolean {
      // What answered before and refuses connections was scaled down.
      if (reason === 'unreachable') return wasReached || view().state === 'warming';
      return reason === 'busy' || /^http_50[234]$/.test(reason);
    },
    view,
    /** The durations of the last cold starts, as plain JSON. */
    save: (): unknown => warmup.coldStartsMs,
    /** Takes the result of `save`, before the first request; anything else is ignored. */
    restore(saved: unknown) {
      if (!Array.isArray(saved)) return;
      const coldStartsMs = saved.filter((ms) => Number.isSafeInteger(ms) && ms >= 0) as number[];
      warmup = { ...COLD, coldStartsMs: coldStartsMs.slice(0, COLD_STARTS_KEPT) };
    },
    stop: () => running.abort(),
  };
}

interface Verdict {
  readonly kind: 'ready' | 'starting' | 'refused';
  readonly detail: string;
}

function verdictOf(result: FetchResult): Verdict {
  if (result.kind !== 'response') return { kind: 'starting', detail: result.detail };
  const detail = `HTTP ${result.status}`;
  if (result.status >= 200 && result.status < 300) return { kind: 'ready', detail };
  return { kind: result.status >= 500 || result.status === 429 ? 'starting' : 'refused', detail };
}

const SHORTEST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 5000;
/** What the last poll has left of the timeout. */
const LAST_POLL_MS = 750;

/**
 * Pause until the next poll of a starting `ondemand`: 1 s, growing to 5 s, and such that the last poll comes
 * just before the timeout; null when there is time for none.
 */
export function pollPauseMs(polls: number, leftMs: number): number | null {
  const restMs = leftMs - LAST_POLL_MS;
  if (restMs < SHORTEST_PAUSE_MS) return null;
  const pauseMs = Math.min(SHORTEST_PAUSE_MS + polls * 500, LONGEST_PAUSE_MS);
  if (restMs - pauseMs >= SHORTEST_PAUSE_MS) return pauseMs;
  return restMs <= LONGEST_PAUSE_MS ? restMs : restMs - SHORTEST_PAUSE_MS;
}

/** Readiness of the on-demand upstream; times are clock ticks except `lastWarmupAt`. */
export interface Warmup {
  readonly state: WarmupState;
  /** Wall-clock time of the last start, milliseconds since the epoch. */
  readonly lastWarmupAt: number | null;
  readonly lastResult: string | null;
  readonly durationMs: number | null;
  readonly startedAt: number | null;
  /** The last warm-up that a request started. */
  readonly lastRoutingStart: DualTime | null;
  readonly lastUsedAt: number | null;
  /** While `warming`: until when a start seen only by requests is assumed; null: a warm-up is running. */
  readonly seenUntil: number | null;
  /** While `warming`: when it was first seen to start; null while it has not put anybody off yet. */
  readonly coldSince: number | null;
  /** The times of the last cold starts in milliseconds, newest first. */
  readonly coldStartsMs: readonly number[];
}

export const COLD: Warmup = {
  state: 'idle',
  lastWarmupAt: null,
  lastResult: null,
  durationMs: null,
  startedAt: null,
  lastRoutingStart: null,
  lastUsedAt: null,
  seenUntil: null,
  coldSince: null,
  coldStartsMs: [],
};

const COLD_STARTS_KEPT = 5;

/** `ready` and `failed` return to `idle` after this long without use. */
const FADE_MS = 300_000;
/** Requests start at most one warm-up in this time; while hosted upstreams answer, in the longer one. */
const ROUTING_PAUSE_MS = 60_000;
const ROUTING_PAUSE_HOSTED_OK_MS = 600_000;

/** Requests poll a starting machine every 5 s at most: not seen for this long, no request is waiting for it. */
const SEEN_MS = 15_000;

/** The state at `now`, with expired states back at `idle`. */
function warmupAt(warmup: Warmup, now: number): Warmup {
  if (warmup.state === 'warming' && warmup.seenUntil !== null && now >= warmup.seenUntil) {
    return { ...warmup, state: 'idle', seenUntil: null, coldSince: null };
  }
  if (warmup.state !== 'ready' && warmup.state !== 'failed') return warmup;
  const since = warmup.lastUsedAt ?? warmup.startedAt ?? now;
  return now - since >= FADE_MS ? { ...warmup, state: 'idle' } : warmup;
}

function mayStartFromRouting(warmup: Warmup, now: number, hostedAtMs: number): boolean {
  const { state, lastRoutingStart: last } = warmupAt(warmup, now);
  if (state === 'warming' || state === 'ready') return false;
  if (last === null) return true;
  const pauseMs = hostedAtMs >= last.wallMs ? ROUTING_PAUSE_HOSTED_OK_MS : ROUTING_PAUSE_MS;
  return now - last.ticks >= pauseMs;
}

export function started(warmup: Warmup, at: DualTime, byRouting: boolean): Warmup {
  return {
    ...warmup,
    state: 'warming',
    lastWarmupAt: at.wallMs,
    startedAt: at.ticks,
    seenUntil: null,
    lastRoutingStart: byRouting ? at : warmup.lastRoutingStart,
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
