import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../config.ts';
import { sleep, type Clock } from '../platform/clock.ts';
import type { HttpClient } from '../platform/http.ts';
import { attempt, type Answered } from './attempt.ts';
import {
  localCall,
  remoteCall,
  type ChatCall,
  type LocalChoice,
  type UpstreamCall,
} from './calls.ts';
import type { Left } from './last-word.ts';
import { classify, type Failure } from './outcomes.ts';
import { isStarting, pollDelayMs, retryDelayMs } from './same-upstream.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { RequestLog } from './request-log.ts';
import type { RemoteUpstream } from './upstreams.ts';
import type { WarmupRunner } from './warmup.ts';

/** What the router needs of the world. */
export interface RouterDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly warmup: WarmupRunner;
  readonly pickLocal: () => LocalChoice;
}

/** How the walk over the upstreams ended. */
export type Routed =
  | {
      readonly kind: 'answered';
      readonly call: UpstreamCall;
      readonly seen: Answered;
      readonly log: AttemptLog;
      readonly trail: readonly Left[];
    }
  | { readonly kind: 'unanswered'; readonly trail: readonly Left[] }
  | { readonly kind: 'cancelled' };

/** One chat completion under way: fixed at its start, so that a settings change meets the next one. */
export interface Journey {
  readonly call: ChatCall;
  readonly config: Config;
  readonly remotes: readonly RemoteUpstream[];
  readonly log: RequestLog;
  readonly signal: AbortSignal;
}

/**
 * Walks `local`, `hosted_a`, `hosted_b`, `hosted_c`, `ondemand` until one answers (interface 1).
 * As soon as `local` is lost the on-demand upstream is warmed up, without waiting for it.
 */
export async function route(journey: Journey, deps: RouterDeps): Promise<Routed> {
  const trail: Left[] = [];
  for (const id of UPSTREAM_IDS) {
    const step = await ask(id, journey, deps);
    if (step.kind === 'cancelled') return step;
    if (step.kind === 'answered') {
      if (id !== 'local' && id !== 'ondemand') deps.warmup.hostedAnswered();
      return { ...step, trail };
    }
    trail.push(step);
    if (step.kind === 'failed' && !step.failure.fallBack) break;
    if (id === 'local') warmUpAfter(step, journey, deps);
  }
  return { kind: 'unanswered', trail };
}

type Step = Exclude<AskResult, { readonly kind: 'failed' }> | Left;

async function ask(id: UpstreamId, journey: Journey, deps: RouterDeps): Promise<Step> {
  const ready = prepare(id, journey, deps);
  if ('skip' in ready) return { kind: 'skipped', upstream: id, reason: ready.skip };
  const result =
    id === 'ondemand'
      ? await askStarting(ready, journey, deps)
      : await askTwice(ready, journey, deps);
  return result.kind === 'failed' ? { ...result, upstream: id } : result;
}

type Skip = { readonly skip: Extract<Left, { readonly kind: 'skipped' }>['reason'] };

/** Whether the upstream may be asked, and with what. */
function prepare(id: UpstreamId, journey: Journey, deps: RouterDeps): UpstreamCall | Skip {
  const { call, config, remotes } = journey;
  if (id === 'local') {
    const choice = deps.pickLocal();
    return choice.kind === 'none'
      ? { skip: choice.reason }
      : localCall(call, choice.target, config);
  }
  const upstream = remotes.find((remote) => remote.id === id);
  if (upstream === undefined) return { skip: 'not_configured' };
  return call.zeroSpend ? { skip: 'zero_spend' } : remoteCall(call, upstream);
}

/** A set-up without `local` must not keep a paid GPU warm (design 6). */
function warmUpAfter(step: Left, { call, config, remotes }: Journey, { warmup }: RouterDeps): void {
  const localIsSetUp = !(step.kind === 'skipped' && step.reason === 'not_configured');
  const upstream = remotes.find(({ id }) => id === 'ondemand');
  if (upstream === undefined || !localIsSetUp || !config.ondemand.warmup || call.zeroSpend) return;
  warmup.startFromRouting(upstream);
}

type AskResult =
  | {
      readonly kind: 'answered';
      readonly call: UpstreamCall;
      readonly seen: Answered;
      readonly log: AttemptLog;
    }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'cancelled' };

/** Asks, and after a hiccup once more, all within the upstream's one time-out. */
async function askTwice(
  call: UpstreamCall,
  journey: Journey,
  deps: RouterDeps,
): Promise<AskResult> {
  const deadline = deps.clock.ticks() + call.timeoutMs;
  const first = await askOnce(call, deadline, journey, deps);
  if (first.kind !== 'failed') return first;
  const { retryAfterMaxMs } = journey.config.routing;
  const delayMs = retryDelayMs(first.failure, call.upstream, retryAfterMaxMs, deps.random());
  if (delayMs === null || deps.clock.ticks() + delayMs >= deadline) return first;
  if (!(await sleep(deps.clock, delayMs, journey.signal))) return { kind: 'cancelled' };
  return askOnce(call, deadline, journey, deps);
}

/** Asks `ondemand`, polling it through its cold start within its time-out. */
async function askStarting(
  call: UpstreamCall,
  journey: Journey,
  deps: RouterDeps,
): Promise<AskResult> {
  const { clock, warmup } = deps;
  const deadline = clock.ticks() + call.timeoutMs;
  for (let polls = 0; ; polls += 1) {
    const result =
      polls === 0
        ? await askTwice(call, journey, deps)
        : await askOnce(call, deadline, journey, deps);
    if (result.kind === 'answered') warmup.used();
    if (result.kind !== 'failed' || !isStarting(result.failure, warmup.known())) return result;
    warmup.seenStarting();
    const delayMs = pollDelayMs(polls);
    if (clock.ticks() + delayMs >= deadline) {
      const failure = classify({ kind: 'timeout' }, 'ondemand', clock.now());
      journey.log.gaveUp(failure);
      return { kind: 'failed', failure };
    }
    if (!(await sleep(clock, delayMs, journey.signal))) return { kind: 'cancelled' };
  }
}

async function askOnce(
  call: UpstreamCall,
  deadline: number,
  journey: Journey,
  deps: RouterDeps,
): Promise<AskResult> {
  const { clock, http } = deps;
  const log = journey.log.startAttempt(call.upstream);
  const { idleTimeoutMs } = journey.config.routing;
  const plan = { request: call.request, mode: call.mode, deadline, idleTimeoutMs };
  const seen = await attempt(plan, { http, clock }, journey.signal);
  switch (seen.kind) {
    case 'stream':
    case 'answer':
      log.answering(seen.contentAt);
      return { kind: 'answered', call, seen, log };
    case 'cancelled':
      log.cancelled();
      return seen;
    default: {
      const failure = classify(seen, call.upstream, clock.now());
      // A cold start is no failure until its time is up.
      if (call.upstream === 'ondemand' && isStarting(failure, deps.warmup.known())) log.starting();
      else log.failed(failure);
      return { kind: 'failed', failure };
    }
  }
}
