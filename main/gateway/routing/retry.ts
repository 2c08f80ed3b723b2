import type { AttemptCause } from '#shared/live.ts';
import type { Tokens } from '#shared/usage.ts';
import type { Config } from '../../config/schema.ts';
import { type CancelSignal, type Clock, dualTimeOf, sleep } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import { type Circuits, isRemoved } from '../circuits/circuits.ts';
import { sendAdjusted } from '../upstream/adjusted-call.ts';
import type { Adjustments } from '../upstream/adjustments.ts';
import type { Answered, Seen, SentAttempt } from '../upstream/attempt.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import { classify, type Failure } from '../upstream/failure.ts';
import { shownError } from '../upstream/shown-error.ts';
import {
  bodyWithout,
  headersWithout,
  keysCovered,
  type OwnSecrets,
} from '../upstream/own-secrets.ts';
import type { Attempt, Permits, RequestAttempts } from './attempts.ts';
import type { AdmittedCall } from './candidate.ts';
import { bothOf, type EngineActivity, type EngineCall, type WedgeWatch } from './hung-engines.ts';
import { hedgeDelayMs, showsContent } from './hedge-policy.ts';
import { isStarting, pollPauseMs, retryDelayMs } from './retry-policy.ts';
import { type Predictions, hungAfterMs } from './ttft-predictions.ts';
import type { EndpointSupport } from './upstream-support.ts';
import { NOTHING_SPENT, tokensOf, tokensOfPart } from '../upstream/usage.ts';
import type { WarmupRunner } from './warmup.ts';

export interface CallDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly warmup: WarmupRunner;
  readonly circuits: Circuits;
  readonly predictions: Predictions;
  readonly engines: EngineActivity;
  readonly wedges: WedgeWatch;
  readonly support: EndpointSupport;
  readonly adjustments: Adjustments;
}

/** Whether a call to an engine that seems to have hung is worth its whole time-out. */
export type Patience = 'whole_timeout' | 'until_hung';

/** The request that an upstream is called for. */
export interface AttemptContext {
  readonly config: Config;
  readonly attempts: RequestAttempts;
  readonly signal: CancelSignal;
  /** The circuits' epoch at the moment when `config` was read. */
  readonly epoch: number;
  readonly cause: AttemptCause;
  /** Called at first content of an answer that is being assembled. */
  readonly onContent: () => void;
  /** Reserves memory for the body of a call beside the first; false if there is no room for it. */
  readonly reserveCopy: () => boolean;
}

export interface AnsweredCall {
  readonly kind: 'answered';
  readonly call: UpstreamCall;
  readonly seen: Answered;
  readonly attempt: Attempt;
  /** The gateway asked for the stream's usage, which is not for the caller. */
  readonly hidesUsage: boolean;
}

export type AttemptOutcome =
  | AnsweredCall
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'cancelled' };

/** Sends an admitted call, with its retry and its polls, all within one time-out. */
export async function callUpstream(
  { call, permits, at }: AdmittedCall,
  context: AttemptContext,
  deps: CallDeps,
  patience: Patience = 'whole_timeout',
): Promise<AttemptOutcome> {
  const once = { permits, patience, deadline: at + call.timeoutMs };
  const outcome =
    call.upstream === 'ondemand'
      ? await pollUntilStarted(call, once, context, deps)
      : await callWithRetry(call, once, context, deps);
  const { id } = permits.own;
  if (outcome.kind === 'failed' && !isRemoved(id, deps.circuits)) {
    const { epoch } = context;
    deps.circuits.excludeAfter(id, outcome.failure, { model: call.model, epoch });
  }
  return outcome;
}

/** Polls `ondemand` through its cold start. */
async function pollUntilStarted(
  call: UpstreamCall,
  once: Once,
  context: AttemptContext,
  deps: CallDeps,
): Promise<AttemptOutcome> {
  const { clock, warmup } = deps;
  for (let polls = 0; ; polls += 1) {
    const outcome =
      polls === 0
        ? await callWithRetry(call, once, context, deps)
        : await callInEitherForm(call, once, context, deps);
    if (outcome.kind === 'answered') warmup.used();
    if (outcome.kind !== 'failed' || !isStarting(outcome.failure, warmup.known())) return outcome;
    warmup.seenStarting();
    const pauseMs = pollPauseMs(polls, once.deadline - clock.ticks());
    if (pauseMs === null) {
      const failure = classify({ kind: 'timeout', wasSilent: false }, call, clock.now());
      context.attempts.gaveUp(failure);
      return { kind: 'failed', failure };
    }
    if (!(await sleep(clock, pauseMs, context.signal))) return { kind: 'cancelled' };
  }
}

/** Calls, and after a transient failure once more if the circuit still admits. */
async function callWithRetry(
  call: UpstreamCall,
  once: Once,
  context: AttemptContext,
  deps: CallDeps,
): Promise<AttemptOutcome> {
  const { circuits, clock, random } = deps;
  const first = await callInEitherForm(call, once, context, deps);
  if (first.kind !== 'failed' || !call.isAlone) return first;
  const { retryAfterMaxMs } = context.config.routing;
  const delayMs = retryDelayMs(first.failure, call.upstream, retryAfterMaxMs, random());
  if (delayMs === null || clock.ticks() + delayMs >= once.deadline) return first;
  if (!(await sleep(clock, delayMs, context.signal))) return { kind: 'cancelled' };
  const { id } = once.permits.own;
  const admission = circuits.admitRetry(id, call, context.epoch);
  if (admission.kind === 'excluded') return first;
  const permits = { ...once.permits, own: { id, permit: admission.permit } };
  return callInEitherForm(call, { ...once, permits }, context, deps);
}

interface Once {
  readonly permits: Permits;
  readonly patience: Patience;
  /** In clock ticks. */
  readonly deadline: number;
}

/** Calls; an upstream that turns out to lack the endpoint is at once asked for a chat completion. */
async function callInEitherForm(
  call: UpstreamCall,
  once: Once,
  context: AttemptContext,
  deps: CallDeps,
): Promise<AttemptOutcome> {
  const { circuits, support } = deps;
  const outcome = await callOnce(call, once, context, deps);
  const { permits } = once;
  const { id } = permits.own;
  const isLacking = outcome.kind === 'failed' && outcome.failure.reason === 'unsupported';
  if (!isLacking || isRemoved(id, circuits)) return outcome;
  support.refused(id, call.endpoint);
  const inChat = call.inChat();
  if (inChat === null) return outcome;
  const admission = circuits.admitRetry(id, inChat, context.epoch);
  if (admission.kind === 'excluded') return outcome;
  const own = { id, permit: admission.permit };
  return callOnce(inChat, { ...once, permits: { ...permits, own } }, context, deps);
}

async function callOnce(
  call: UpstreamCall,
  { permits, patience, deadline }: Once,
  context: AttemptContext,
  deps: CallDeps,
): Promise<AttemptOutcome> {
  const { config, attempts, signal, cause } = context;
  const { clock, warmup } = deps;
  const { idleTimeoutMs } = config.routing;
  const engineCall = watched(call, permits, config, deps);
  const { id } = permits.own;
  const plan = {
    id,
    traceparent: attempts.traceparent(call),
    deadline,
    hungAt: patience === 'until_hung' && engineCall !== null ? engineCall.hungAt : null,
    idleTimeoutMs,
    onContent: engineCall === null ? context.onContent : contentOf(engineCall, context),
  };
  // Sent first and recorded while it is in flight, which costs the caller no time.
  const sent = sendAdjusted(call, plan, deps, signal);
  const attempt = attempts.called(call, permits, cause, { engineCall, ...sent });
  const answer = await sent.seen;
  attempt.used(usedBy(answer, sent, call));
  const seen = inCallersProtocol(withoutSecrets(answer, call.secrets), call);
  switch (seen.kind) {
    case 'stream':
    case 'bytes':
    case 'answer':
      return { kind: 'answered', call, seen, attempt, hidesUsage: sent.hidesUsage() };
    case 'cancelled':
      attempt.cancelled();
      return seen;
    default: {
      const endedAt = dualTimeOf(clock);
      const failure = classify(seen, call, endedAt.wallMs);
      const wasSilent = seen.kind === 'timeout' && seen.wasSilent;
      // It gave no sample, and later calls must not wait longer because of that.
      if (wasSilent && endedAt.ticks < deadline) deps.predictions.confirm(id);
      // A cold start counts as a failure only when its time-out is over.
      const isColdStart = call.upstream === 'ondemand' && isStarting(failure, warmup.known());
      const error = shownError(failure, sent.request());
      if (!isColdStart) attempt.failed(failure, { wasSilent, error, endedAt });
      return { kind: 'failed', failure };
    }
  }
}

/** What is known before the end of a stream, or guessed of a call that came to no end; null: nothing, or later. */
function usedBy(seen: Seen, sent: SentAttempt, call: UpstreamCall): Tokens | null {
  const spent = sent.spent();
  switch (seen.kind) {
    case 'answer':
      return tokensOf(seen.body, call);
    // Its prompt is read and paid for, though nothing of the answer came.
    case 'cancelled':
    case 'timeout':
      return sent.hasLeft() ? tokensOfPart(spent ?? NOTHING_SPENT, call) : null;
    case 'bad':
    case 'error_answer': {
      const hasCome = spent !== null && (spent.told !== null || spent.output > 0);
      return hasCome ? tokensOfPart(spent, call) : null;
    }
    default:
      return null;
  }
}

/** A whole answer, while another upstream can still be called if it cannot be translated. */
function inCallersProtocol(seen: Seen, { translator, request }: UpstreamCall): Seen {
  if (translator === null || seen.kind !== 'answer') return seen;
  const whole = translator.whole(seen.body, request.stream);
  return whole.kind === 'answer' ? { ...seen, body: whole.body } : whole;
}

function withoutSecrets(seen: Seen, secrets: OwnSecrets): Seen {
  if (!('headers' in seen)) return seen;
  const headers = headersWithout(secrets, seen.headers);
  if (seen.kind === 'status') return { ...seen, headers, body: bodyWithout(secrets, seen.body) };
  // An assembled answer may hold a key that none of its pieces held whole.
  if (seen.kind === 'answer')
    return { ...seen, headers, body: keysCovered(seen.body, secrets.keys) };
  return headers === seen.headers ? seen : { ...seen, headers };
}

/** Null if no silence says that the engine has hung. */
function watched(
  call: UpstreamCall,
  permits: Permits,
  config: Config,
  deps: CallDeps,
): EngineCall | null {
  if (call.upstream !== 'local') return null;
  const predicted = predictedCall(call, permits, config, deps);
  // A machine's agent finds out by itself whether its engine has hung.
  if (call.provider !== null) return predicted;
  const { ownedBy } = call.prefill;
  return bothOf(predicted, deps.wedges.sent(ownedBy, hedgeDelayMs(config)));
}

/** Null if nothing is predicted. */
function predictedCall(
  call: UpstreamCall,
  { own }: Permits,
  config: Config,
  { engines, predictions }: CallDeps,
): EngineCall | null {
  if (config.routing.hedge !== 'own') return null;
  const prediction = predictions.at(own.id, call.promptBytes);
  if (prediction === null) return null;
  // Silence of an answer that comes as a whole says nothing.
  const limitMs = showsContent(call) ? hungAfterMs(prediction, hedgeDelayMs(config)) : Infinity;
  return engines.sent(own.id, limitMs);
}

function contentOf(engineCall: EngineCall, { onContent }: AttemptContext): () => void {
  return () => {
    engineCall.content();
    onContent();
  };
}
