import { type Clock, sleep } from '../../platform/clock.ts';
import { fetchBody, type FetchResult } from '../../platform/http/fetch-body.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';
import { type OndemandKnown, pollDelayMs } from './retry-policy.ts';
import {
  COLD,
  ended,
  mayStartFromRouting,
  seenStarting,
  started,
  used,
  type Warmup,
  warmupAt,
} from './warmup-state.ts';

/** The warm-up of the on-demand upstream: started and forgotten, one at a time. */
export interface WarmupRunner {
  /** A request lost `local`: start unless that was done a short while ago. */
  startFromRouting(upstream: RemoteUpstream): void;
  /** The owner asks for it. */
  start(upstream: RemoteUpstream): void;
  hostedAnswered(): void;
  /** A chat completion came from it. */
  used(): void;
  /** It answered a chat completion as a machine does that is still starting. */
  seenStarting(): void;
  known(): OndemandKnown;
  /** The upstream is another one now. */
  forget(): void;
  view(): Warmup;
  stop(): void;
}

/** A single health answer may take this long; a cold start is polled, not waited for on one socket. */
const POLL_TIMEOUT_MS = 10_000;
const MAX_HEALTH_BYTES = 1024 * 1024;

/** Makes the runner; `changed` is called after each change of state. */
export function createWarmup(
  { http, clock }: { readonly http: HttpClient; readonly clock: Clock },
  changed: () => void,
): WarmupRunner {
  let warmup: Warmup = COLD;
  let reachedBefore = false;
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
      const verdict = await probe(upstream, Math.min(POLL_TIMEOUT_MS, deadline - clock.ticks()));
      if (signal.aborted) return;
      if (verdict.kind === 'ready') reachedBefore = true;
      const pauseMs = pollDelayMs(polls);
      const outOfTime = clock.ticks() + pauseMs >= deadline;
      if (verdict.kind !== 'starting' || outOfTime) {
        set(ended(warmup, clock.ticks(), verdict.kind === 'ready', verdict.detail));
        return;
      }
      await sleep(clock, pauseMs, signal);
    }
  }

  async function probe(upstream: RemoteUpstream, timeoutMs: number): Promise<Verdict> {
    const health = judge(await ask(upstream, '/health', timeoutMs));
    return health.kind === 'absent' ? judge(await ask(upstream, '/v1/models', timeoutMs)) : health;
  }

  function ask(upstream: RemoteUpstream, path: string, timeoutMs: number): Promise<FetchResult> {
    const { origin, basePath, query, basicAuth } = upstream.endpoint;
    const authorization = upstream.apiKey === null ? basicAuth : `Bearer ${upstream.apiKey}`;
    const headers = Object.entries(upstream.headers).flat();
    if (authorization !== null) headers.push('authorization', authorization);
    const maxBytes = MAX_HEALTH_BYTES;
    return fetchBody(
      { origin, path: basePath + path + query, headers, timeoutMs, maxBytes },
      { http, clock },
    );
  }

  return {
    startFromRouting(upstream) {
      const now = clock.ticks();
      const hostedAnswers =
        hostedAnsweredAt !== null && hostedAnsweredAt >= (warmup.lastRoutingStartAt ?? 0);
      if (mayStartFromRouting(warmup, now, hostedAnswers)) begin(upstream, true);
    },
    start(upstream) {
      // Single flight: a warm-up that runs already is the one that was asked for.
      if (warmup.state !== 'warming' || warmup.seenUntil !== null) begin(upstream, false);
    },
    hostedAnswered() {
      hostedAnsweredAt = clock.ticks();
    },
    used() {
      running.abort();
      reachedBefore = true;
      set(used(warmup, clock.ticks()));
    },
    seenStarting: () => set(seenStarting(warmup, clock.ticks())),
    forget() {
      running.abort();
      reachedBefore = false;
      hostedAnsweredAt = null;
      set(COLD);
    },
    known: () => ({ warming: view().state === 'warming', reachedBefore }),
    view,
    stop: () => running.abort(),
  };
}

interface Verdict {
  readonly kind: 'ready' | 'starting' | 'absent' | 'refused';
  readonly detail: string;
}

function judge(result: FetchResult): Verdict {
  if (result.kind !== 'response') return { kind: 'starting', detail: result.detail };
  const detail = `HTTP ${result.status}`;
  if (result.status >= 200 && result.status < 300) return { kind: 'ready', detail };
  if (result.status === 404) return { kind: 'absent', detail };
  return { kind: result.status >= 500 || result.status === 429 ? 'starting' : 'refused', detail };
}
