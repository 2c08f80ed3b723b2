import type { AdmittedCall, Dispatch } from '../../routing/candidate.ts';
import type { FallbackPlan } from '../../routing/fallback-plan.ts';
import {
  type AnsweredCall,
  type AttemptOutcome,
  type CallDeps,
  callUpstream,
} from '../../routing/retry.ts';
import type { RequestContext } from '../../routing/router.ts';
import type { AnswerMode } from '../../upstream/answer-readers.ts';
import type { UpstreamCall } from '../../upstream/call.ts';
import { askingForUsage, bodyFor, type ChatRequest } from '../../upstream/chat-request.ts';
import type { Failure } from '../../upstream/failure.ts';
import { continuedBody, isDeterministic } from './continuation.ts';
import type { Prefills } from './prefills.ts';
import { createSplice, type Splice } from './splice.ts';
import type { SpliceMode } from './text-splice.ts';
import { readTranscriptInTurns, type Transcript } from './transcript.ts';

export interface ResumeDeps extends CallDeps {
  readonly prefills: Prefills;
}

/** An answer that broke off, and the bytes that were sent of it. */
export interface BrokenAnswer {
  /** As it was asked for. */
  readonly request: ChatRequest;
  /** The dispatch of its last part. */
  readonly source: Dispatch;
  /** The source was asked to continue and seems to have begun the answer from the start. */
  readonly hasRestarted: boolean;
  readonly plan: FallbackPlan;
  readonly sent: readonly Buffer[];
}

export type ResumedAnswer = AnsweredCall & {
  readonly dispatch: Dispatch;
  readonly mode: SpliceMode['kind'];
  /** Turns its events into the rest of the answer. */
  readonly splice: Splice;
};

export type ResumeResult =
  ResumedAnswer | { readonly kind: 'not_resumed' } | { readonly kind: 'cancelled' };

const NOT_RESUMED: ResumeResult = { kind: 'not_resumed' };

/**
 * Calls the remaining candidates in routing order, and last an excluded one, to continue the partial answer
 * or, where the request is deterministic, to repeat it. The sent bytes are parsed here and not before.
 */
export async function resumeAnswer(
  { request, source, hasRestarted, plan, sent }: BrokenAnswer,
  context: RequestContext,
  deps: ResumeDeps,
): Promise<ResumeResult> {
  const { call: broken } = source.admitted;
  const transcript = await readTranscriptInTurns(sent);
  const resumer =
    transcript.kind === 'transcript' ? createResumer(request, transcript, context, deps) : null;
  if (hasRestarted) {
    deps.prefills.refused(broken);
    const repeated = (await resumer?.repeat(source)) ?? NOT_RESUMED;
    if (repeated.kind === 'answered' || repeated.kind === 'cancelled') return repeated;
  }
  plan.broken(source);
  if (resumer === null) return NOT_RESUMED;
  // The engines of local machines are known, so those are called before waiting for lists of models.
  let isLocalOnly = broken.upstream === 'local';
  for (;;) {
    if (!isLocalOnly) await learnPrefills(broken, plan, context, deps.prefills);
    if (context.signal.aborted) return { kind: 'cancelled' };
    const dispatch = nextDispatch(broken, { plan, resumer, isLocalOnly }, context);
    if (dispatch === null) {
      if (!isLocalOnly) return NOT_RESUMED;
      isLocalOnly = false;
      continue;
    }
    const end = await resumer.resume(dispatch);
    if (end.kind !== 'failed') return end;
    const failure = asFallback(end.failure);
    plan.failed(dispatch, failure);
    if (!failure.fallBack) return NOT_RESUMED;
  }
}

/** Reads the lists of models of hosted upstreams that may be called next. */
async function learnPrefills(
  broken: UpstreamCall,
  plan: FallbackPlan,
  context: RequestContext,
  prefills: Prefills,
): Promise<void> {
  const { zeroSpend, request } = context.call;
  if (zeroSpend) return;
  const ahead = plan.ahead();
  const candidates = context.remotes
    .map((upstream) => ({ upstream, model: upstream.model ?? request.model ?? '' }))
    .filter(
      ({ upstream, model }) =>
        isModelAccepted(broken, model, context) && ahead.includes(upstream.id),
    );
  await prefills.learn(candidates);
}

/** The next call that can resume the answer; a forced one when no other is left. */
function nextDispatch(
  broken: UpstreamCall,
  {
    plan,
    resumer,
    isLocalOnly,
  }: {
    readonly plan: FallbackPlan;
    readonly resumer: Resumer;
    readonly isLocalOnly: boolean;
  },
  context: RequestContext,
): Dispatch | null {
  const filter = (call: UpstreamCall) => {
    const isInTurn = !isLocalOnly || call.upstream === 'local';
    return isInTurn && isModelAccepted(broken, call.model, context) && resumer.canResume(call);
  };
  return plan.next('admit', filter) ?? (isLocalOnly ? null : plan.forceSoonest(filter));
}

/** Text of another model would be another answer, so the owner has to allow it. */
function isModelAccepted(broken: UpstreamCall, model: string, { config }: RequestContext): boolean {
  switch (config.routing.resume) {
    case 'any':
      return true;
    case 'same-model':
      return model !== '' && model === broken.model;
    case 'off':
      return false;
  }
}

/** Rejecting a partial answer says nothing about the request itself; refusing the caller's key does. */
function asFallback(failure: Failure): Failure {
  const isRefusal = failure.reason === 'http_401' || failure.reason === 'http_403';
  return isRefusal ? failure : { ...failure, fallBack: true };
}

/** A request for the rest of the answer. */
interface ResumeRequest {
  readonly body: Buffer;
  readonly mode: AnswerMode;
  readonly splice: SpliceMode;
}

type ResumeEnd = ResumeResult | Extract<AttemptOutcome, { readonly kind: 'failed' }>;

interface Resumer {
  canResume(call: UpstreamCall): boolean;
  /** Asks to continue; an upstream that refuses is asked to repeat where the request is deterministic. */
  resume(dispatch: Dispatch): Promise<ResumeEnd>;
  /** Calls the same upstream again; its circuit is asked for a new permit. */
  repeat(dispatch: Dispatch): Promise<ResumeEnd>;
}

/** Calls upstreams for the rest of the answer that begins with `transcript`. */
function createResumer(
  request: ChatRequest,
  transcript: Transcript,
  context: RequestContext,
  deps: ResumeDeps,
): Resumer {
  const canRepeat = isDeterministic(request);
  const attemptContext = { ...context, cause: 'resume' as const };
  const cached = new Map<UpstreamCall, readonly ResumeRequest[]>();

  /** In order of preference. */
  function requestsFor(call: UpstreamCall): readonly ResumeRequest[] {
    if (sameForm(call) === null) return [];
    const requests = cached.get(call) ?? [...continuationFor(call), ...repetitionFor(call)];
    // Not cached where there is none: its engine may be known by the next time.
    if (requests.length > 0) cached.set(call, requests);
    return requests;
  }

  /** The call as a chat completion if the broken one was. */
  function sameForm(call: UpstreamCall): UpstreamCall | null {
    if (call.request === request) return call;
    const other = call.inChat();
    return other?.request === request ? other : null;
  }

  function continuationFor(call: UpstreamCall): readonly ResumeRequest[] {
    const continuing = deps.prefills.of(call);
    if (continuing === null) return [];
    const { prefill, echo } = continuing;
    const body = continuedBody(request, { model: modelOf(call), prefill, transcript });
    if (body.kind === 'not_possible') return [];
    const { kind: _, bytes, ...continuation } = body;
    return [{ body: bytes, mode: 'rest', splice: { kind: 'continued', ...continuation, echo } }];
  }

  function repetitionFor(call: UpstreamCall): readonly ResumeRequest[] {
    const body = bodyFor(request, modelOf(call), { forStream: false, forUsage: false });
    return canRepeat ? [{ body, mode: 'relay', splice: { kind: 'repeated' } }] : [];
  }

  async function send(
    dispatch: Dispatch,
    admitted: AdmittedCall,
    resumeRequest: ResumeRequest,
  ): Promise<ResumeEnd> {
    const call = sameForm(admitted.call) ?? admitted.call;
    const rest = { ...admitted, call: withRequest(call, resumeRequest) };
    const outcome = await callUpstream(rest, attemptContext, deps);
    if (outcome.kind !== 'answered') return outcome;
    const { splice } = resumeRequest;
    const mode = withJsonEcho(splice, outcome.seen);
    return { ...outcome, dispatch, mode: mode.kind, splice: createSplice(transcript, mode) };
  }

  async function repeat(dispatch: Dispatch): Promise<ResumeEnd> {
    const { call, permits } = dispatch.admitted;
    const [repetition] = repetitionFor(call);
    if (repetition === undefined) return NOT_RESUMED;
    const admission = deps.circuits.admitRetry(permits.own.id, call, context.epoch);
    if (admission.kind === 'excluded') return NOT_RESUMED;
    const own = { id: permits.own.id, permit: admission.permit };
    return send(dispatch, { call, permits: { ...permits, own }, at: admission.at }, repetition);
  }

  return {
    canResume: (call) => requestsFor(call).length > 0,
    repeat,
    async resume(dispatch) {
      const { call } = dispatch.admitted;
      const [preferred] = requestsFor(call);
      if (preferred === undefined) return NOT_RESUMED;
      const end = await send(dispatch, dispatch.admitted, preferred);
      const isRefused = end.kind === 'failed' && PREFILL_REFUSALS.has(end.failure.reason);
      if (preferred.splice.kind === 'repeated' || !isRefused) return end;
      deps.prefills.refused(call);
      const repeated = await repeat(dispatch);
      return repeated.kind === 'not_resumed' ? end : repeated;
    },
  };
}

/** From engines that accept no partial answer; a prompt that is too long has a reason of its own. */
const PREFILL_REFUSALS: ReadonlySet<string> = new Set(['http_400', 'http_422']);

const modelOf = ({ model }: UpstreamCall) => (model === '' ? null : model);

/** Its answer is spliced first and translated afterwards, if at all. */
function withRequest(call: UpstreamCall, { body, mode }: ResumeRequest): UpstreamCall {
  const write = (forUsage: boolean) => ({
    ...call.write(false),
    body: forUsage ? askingForUsage(body) : body,
  });
  return { ...call, translator: null, mode, promptBytes: body.length, write };
}

/** Engines that stream only new text may echo in a JSON answer, as llama.cpp does. */
function withJsonEcho(mode: SpliceMode, { kind }: AnsweredCall['seen']): SpliceMode {
  const mayEcho = mode.kind === 'continued' && mode.echo === 'never' && kind === 'answer';
  return mayEcho ? { ...mode, echo: 'maybe' } : mode;
}
