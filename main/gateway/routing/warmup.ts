import { type Clock, sleep } from '../../platform/clock.ts';
import type { FetchResult } from '../../platform/http/fetch-body.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import { getFrom } from '../upstream/own-requests.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';
import { type OndemandKnown, pollPauseMs } from './retry-policy.ts';
import {
  COLD,
  COLD_STARTS_KEPT,
  ended,
  mayStartFromRouting,
  putOff,
  seenStarting,
  started,
  used,
  type Warmup,
  warmupAt,
} from './warmup-state.ts';

/** Warms up the on-demand upstream in the background, one run at a time. */
export interface WarmupRunner {
  /** For a request that lost `local`: starts unless one was started recently. */
  startFromRouting(upstream: RemoteUpstream): void;
  /** At the owner's request. */
  start(upstream: RemoteUpstream): void;
  hostedAnswered(): void;
  /** It answered a chat completion. */
  used(): void;
  /** It answered a chat completion as a starting machine does. */
  seenStarting(): void;
  known(): OndemandKnown;
  /** Its address or key changed. */
  forget(): void;
  view(): Warmup;
  /** The durations of the last cold starts, as plain JSON. */
  save(): unknown;
  /** Takes the result of `save`, before the first request; anything else is ignored. */
  restore(saved: unknown): void;
  stop(): void;
}

/** For one health request; a cold start is polled rather than awaited on one socket. */
const POLL_TIMEOUT_MS = 10_000;
const MAX_HEALTH_BYTES = 1024 * 1024;

interface Edges {
  readonly http: HttpClient;
  readonly clock: Clock;
}

/** `changed` is called after each change of state. */
export function createWarmup(edges: Edges, changed: () => void): WarmupRunner {
  const { clock } = edges;
  let warmup: Warmup = COLD;
  let wasReached = false;
  let hostedAnsweredAt: number | null = null;
  let running = new AbortController();

  function set(next: Warmup): void {
    warmup = next;
    changed();
  }

  const view = () => warmupAt(warmup, clock.ticks());

  function begin(upstream: RemoteUpstream, byRouting: boolean): void {
    running.abort();
    running = new AbortController();
    set(started(warmup, { now: clock.ticks(), wallMs: clock.now(), byRouting }));
    void poll(upstream, running.signal);
  }

  async function poll(upstream: RemoteUpstream, signal: AbortSignal): Promise<void> {
    const deadline = clock.ticks() + upstream.timeoutMs;
    for (let polls = 0; !signal.aborted; polls += 1) {
      const verdict = await checkHealth(
        upstream,
        edges,
        Math.min(POLL_TIMEOUT_MS, deadline - clock.ticks()),
      );
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
    startFromRouting(upstream) {
      const now = clock.ticks();
      const hostedAnswers =
        hostedAnsweredAt !== null && hostedAnsweredAt >= (warmup.lastRoutingStartAt ?? 0);
      if (mayStartFromRouting(warmup, now, hostedAnswers)) begin(upstream, true);
    },
    start(upstream) {
      // Single flight: a running warm-up serves this request too.
      if (warmup.state !== 'warming' || warmup.seenUntil !== null) begin(upstream, false);
    },
    hostedAnswered() {
      hostedAnsweredAt = clock.ticks();
    },
    used() {
      running.abort();
      wasReached = true;
      set(used(warmup, clock.ticks()));
    },
    seenStarting: () => set(seenStarting(warmup, clock.ticks())),
    forget() {
      running.abort();
      wasReached = false;
      hostedAnsweredAt = null;
      set(COLD);
    },
    known: () => ({ warming: view().state === 'warming', reachedBefore: wasReached }),
    view,
    save: () => warmup.coldStartsMs,
    restore(saved) {
      if (!Array.isArray(saved)) return;
      const coldStartsMs = saved.filter((ms) => Number.isSafeInteger(ms) && ms >= 0) as number[];
      warmup = { ...COLD, coldStartsMs: coldStartsMs.slice(0, COLD_STARTS_KEPT) };
    },
    stop: () => running.abort(),
  };
}

interface Verdict {
  readonly kind: 'ready' | 'starting' | 'absent' | 'refused';
  readonly detail: string;
}

/** Engines without `/health` are checked by their list of models. */
async function checkHealth(
  upstream: RemoteUpstream,
  edges: Edges,
  timeoutMs: number,
): Promise<Verdict> {
  const limits = { timeoutMs, maxBytes: MAX_HEALTH_BYTES };
  const health = verdictOf(await getFrom(upstream, '/health', limits, edges));
  if (health.kind !== 'absent') return health;
  return verdictOf(await getFrom(upstream, '/v1/models', limits, edges));
}

function verdictOf(result: FetchResult): Verdict {
  if (result.kind !== 'response') return { kind: 'starting', detail: result.detail };
  const detail = `HTTP ${result.status}`;
  if (result.status >= 200 && result.status < 300) return { kind: 'ready', detail };
  if (result.status === 404) return { kind: 'absent', detail };
  return { kind: result.status >= 500 || result.status === 429 ? 'starting' : 'refused', detail };
}
