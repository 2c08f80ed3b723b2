import { sleep, type Clock } from '../platform/clock.ts';
import type { HttpClient } from '../platform/http.ts';
import type { Config } from '../config.ts';
import { attempt, type Answered } from './attempt.ts';
import type { AttemptLog } from './watch/attempt-log.ts';
import type { UpstreamCall } from './request/calls.ts';
import type { Ticket } from './circuit/breaker.ts';
import type { Circuits } from './circuit/circuits.ts';
import { classify, type Failure } from './outcome/outcomes.ts';
import type { RequestLog } from './watch/request-log.ts';
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

/** Asks an upstream that let the request in with `ticket`, all within its one time-out. */
export async function askUpstream(
  call: UpstreamCall,
  ticket: Ticket,
  errand: Errand,
  deps: AskDeps,
): Promise<Asked> {
  const asked =
    call.upstream === 'ondemand'
      ? await askStarting(call, ticket, errand, deps)
      : await askTwice(call, ticket, errand, deps);
  if (asked.kind === 'failed') {
    const { epoch } = errand;
    deps.circuits.skipAfter(call.upstream, asked.failure, { model: call.model, epoch });
  }
  return asked;
}

/** Asks, and after a hiccup once more, if the circuit still lets in. */
async function askTwice(
  call: UpstreamCall,
  ticket: Ticket,
  errand: Errand,
  deps: AskDeps,
): Promise<Asked> {
  const { circuits, clock, random } = deps;
  const deadline = clock.ticks() + call.timeoutMs;
  const first = await askOnce(call, { ticket, deadline }, errand, deps);
  if (first.kind !== 'failed') return first;
  const { retryAfterMaxMs } = errand.config.routing;
  const delayMs = retryDelayMs(first.failure, call.upstream, retryAfterMaxMs, random());
  if (delayMs === null || clock.ticks() + delayMs >= deadline) return first;
  if (!(await sleep(clock, delayMs, errand.signal))) return { kind: 'cancelled' };
  const entry = circuits.enterAgain(call.upstream, call, errand.epoch);
  if (entry.kind === 'out') return first;
  return askOnce(call, { ticket: entry.ticket, deadline }, errand, deps);
}

/** Asks `ondemand`, polling it through its cold start. */
async function askStarting(
  call: UpstreamCall,
  ticket: Ticket,
  errand: Errand,
  deps: AskDeps,
): Promise<Asked> {
  const { clock, warmup } = deps;
  const deadline = clock.ticks() + call.timeoutMs;
  for (let polls = 0; ; polls += 1) {
    const asked =
      polls === 0
        ? await askTwice(call, ticket, errand, deps)
        : await askOnce(call, { ticket, deadline }, errand, deps);
    if (asked.kind === 'answered') warmup.used();
    if (asked.kind !== 'failed' || !isStarting(asked.failure, warmup.known())) return asked;
    warmup.seenStarting();
    const delayMs = pollDelayMs(polls);
    if (clock.ticks() + delayMs >= deadline) {
      const failure = classify({ kind: 'timeout' }, 'ondemand', clock.now());
      errand.log.gaveUp(failure);
      return { kind: 'failed', failure };
    }
    if (!(await sleep(clock, delayMs, errand.signal))) return { kind: 'cancelled' };
  }
}

interface Once {
  readonly ticket: Ticket;
  readonly deadline: number;
}

async function askOnce(
  call: UpstreamCall,
  { ticket, deadline }: Once,
  { config, log: requestLog, signal }: Errand,
  { clock, http, warmup }: AskDeps,
): Promise<Asked> {
  const log = requestLog.startAttempt(call.upstream, ticket);
  const { idleTimeoutMs } = config.routing;
  const plan = { request: call.write(), mode: call.mode, deadline, idleTimeoutMs };
  const seen = await attempt(plan, { http, clock }, signal);
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
      if (call.upstream === 'ondemand' && isStarting(failure, warmup.known())) log.starting();
      else log.failed(failure);
      return { kind: 'failed', failure };
    }
  }
}
