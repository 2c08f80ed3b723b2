import type { AttemptCause } from '#shared/live.ts';
import { sleep, type Clock } from '../platform/clock.ts';
import type { HttpClient } from '../platform/http.ts';
import type { Config } from '../config.ts';
import { attempt, type Answered } from './attempt.ts';
import { isForgotten, type AttemptLog } from './watch/attempt-log.ts';
import type { UpstreamCall } from './request/calls.ts';
import type { Admitted, Circuits } from './circuit/circuits.ts';
import { classify, type Failure } from './outcome/outcomes.ts';
import type { RequestLog } from './watch/open-request.ts';
import type { Leg } from './walk/stop.ts';
import { isStarting, pollDelayMs, retryDelayMs } from './outcome/same-upstream.ts';
import type { WarmupRunner } from './warmup/warmup.ts';

/** What asking an upstream needs of the world. */
export interface AskDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly warmup: WarmupRunner;
  readonly circuits: Circuits;
}

/** The request on whose behalf an upstream is asked. */
export interface Errand {
  readonly config: Config;
  readonly log: RequestLog;
  readonly signal: AbortSignal;
  /** Of the circuits, when the request took up its addresses and keys. */
  readonly epoch: number;
  /** What the calls are made for. */
  readonly cause: AttemptCause;
  /** Called when first content has come of an answer that is being put together. */
  readonly onContent: () => void;
}

/** Where a call was let in: at its upstream, or at its provider within the local tier. */
export interface Pass {
  readonly own: Admitted;
  /** The tier that `own` is one of; it hears of what comes of the whole request there. */
  readonly tier: Admitted | null;
}

/** What came of asking one upstream. */
export type Asked =
  | {
      readonly kind: 'answered';
      readonly call: UpstreamCall;
      readonly seen: Answered;
      readonly log: AttemptLog;
    }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'cancelled' };

/** Asks an upstream or a provider that let the request in, all within its one time-out. */
export async function askUpstream(
  { call, pass }: Leg,
  errand: Errand,
  deps: AskDeps,
): Promise<Asked> {
  const asked =
    call.upstream === 'ondemand'
      ? await askStarting(call, pass, errand, deps)
      : await askTwice(call, pass, errand, deps);
  const { id } = pass.own;
  if (asked.kind === 'failed' && !isForgotten(id, deps.circuits)) {
    const { epoch } = errand;
    deps.circuits.skipAfter(id, asked.failure, { model: call.model, epoch });
  }
  return asked;
}

/** Asks, and after a hiccup once more, if the circuit still lets in. */
async function askTwice(
  call: UpstreamCall,
  pass: Pass,
  errand: Errand,
  deps: AskDeps,
): Promise<Asked> {
  const { circuits, clock, random } = deps;
  const deadline = clock.ticks() + call.timeoutMs;
  const first = await askOnce(call, { pass, deadline }, errand, deps);
  if (first.kind !== 'failed' || !call.isAlone) return first;
  const { retryAfterMaxMs } = errand.config.routing;
  const delayMs = retryDelayMs(first.failure, call.upstream, retryAfterMaxMs, random());
  if (delayMs === null || clock.ticks() + delayMs >= deadline) return first;
  if (!(await sleep(clock, delayMs, errand.signal))) return { kind: 'cancelled' };
  const { id } = pass.own;
  const entry = circuits.enterAgain(id, call, errand.epoch);
  if (entry.kind === 'out') return first;
  const again = { ...pass, own: { id, ticket: entry.ticket } };
  return askOnce(call, { pass: again, deadline }, errand, deps);
}

/** Asks `ondemand`, polling it through its cold start. */
async function askStarting(
  call: UpstreamCall,
  pass: Pass,
  errand: Errand,
  deps: AskDeps,
): Promise<Asked> {
  const { clock, warmup } = deps;
  const deadline = clock.ticks() + call.timeoutMs;
  for (let polls = 0; ; polls += 1) {
    const asked =
      polls === 0
        ? await askTwice(call, pass, errand, deps)
        : await askOnce(call, { pass, deadline }, errand, deps);
    if (asked.kind === 'answered') warmup.used();
    if (asked.kind !== 'failed' || !isStarting(asked.failure, warmup.known())) return asked;
    warmup.seenStarting();
    const delayMs = pollDelayMs(polls);
    if (clock.ticks() + delayMs >= deadline) {
      const failure = classify({ kind: 'timeout', wasSilent: false }, 'ondemand', clock.now());
      errand.log.gaveUp(failure);
      return { kind: 'failed', failure };
    }
    if (!(await sleep(clock, delayMs, errand.signal))) return { kind: 'cancelled' };
  }
}

interface Once {
  readonly pass: Pass;
  readonly deadline: number;
}

async function askOnce(
  call: UpstreamCall,
  { pass, deadline }: Once,
  { config, log: requestLog, signal, cause, onContent }: Errand,
  { clock, http, warmup }: AskDeps,
): Promise<Asked> {
  const { idleTimeoutMs } = config.routing;
  const plan = { request: call.write(), mode: call.mode, deadline, idleTimeoutMs, onContent };
  // Sent first and written down while it is on its way.
  const sent = attempt(plan, { http, clock }, signal);
  const log = requestLog.startAttempt(call, pass, cause);
  const seen = await sent;
  switch (seen.kind) {
    case 'stream':
    case 'answer':
      return { kind: 'answered', call, seen, log };
    case 'cancelled':
      log.cancelled();
      return seen;
    default: {
      const failure = classify(seen, call.upstream, clock.now());
      // A cold start is no failure until its time is up.
      if (call.upstream === 'ondemand' && isStarting(failure, warmup.known())) log.starting();
      else log.failed(failure, seen.kind === 'timeout' && seen.wasSilent);
      return { kind: 'failed', failure };
    }
  }
}
