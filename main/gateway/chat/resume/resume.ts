import type { AdmittedCall } from '../../routing/candidate.ts';
import type { Dispatch, FallbackPlan } from '../../routing/fallback-plan.ts';
import { type CallDeps, type AttemptOutcome, callUpstream } from '../../routing/retry.ts';
import type { RequestContext } from '../../routing/router.ts';
import type { AnswerMode } from '../../upstream/attempt.ts';
import type { UpstreamCall } from '../../upstream/call.ts';
import { bodyFor, type ChatRequest } from '../../upstream/chat-request.ts';
import type { Failure } from '../../upstream/failure.ts';
import { mayEcho } from '../../upstream/upstreams.ts';
import { continuedBody, isDeterministic } from './continuation.ts';
import { createSplice, type Splice } from './splice.ts';
import type { SpliceWay } from './text-splice.ts';
import { readTranscript, type Transcript } from './transcript.ts';

type Answered = Extract<AttemptOutcome, { readonly kind: 'answered' }>;

/** An answer that broke off, and what the caller has of it. */
export interface BrokenAnswer {
  /** The call that it came from. */
  readonly call: UpstreamCall;
  readonly plan: FallbackPlan;
  readonly sent: readonly Buffer[];
}

/** What came of looking for somebody who carries an answer on. */
export type ResumeResult =
  | (Answered & {
      readonly dispatch: Dispatch;
      /** Makes its events the rest of the answer that was begun. */
      readonly splice: Splice;
    })
  | { readonly kind: 'nobody' }
  | { readonly kind: 'cancelled' };

const NOBODY: ResumeResult = { kind: 'nobody' };

/**
 * Asks those that are still ahead, in routing order, to go on from what the caller has been sent, or, where
 * the request is deterministic, for the whole answer again. Nothing of this is parsed before an answer breaks.
 */
export async function resumeAnswer(
  { call: broken, plan, sent }: BrokenAnswer,
  context: RequestContext,
  deps: CallDeps,
): Promise<ResumeResult> {
  const { request } = context.call;
  const transcript = readTranscript(sent);
  if (transcript.kind === 'not_resumable') return NOBODY;
  const ways = new Map<UpstreamCall, Way>();
  const wanted = (call: UpstreamCall) => {
    if (!isAlike(call, broken, context)) return false;
    const way = wayOf(call, request, transcript);
    if (way !== null) ways.set(call, way);
    return way !== null;
  };
  for (;;) {
    const dispatch = plan.next('admit', wanted);
    const way = dispatch === null ? undefined : ways.get(dispatch.admitted.call);
    if (dispatch === null || way === undefined) return NOBODY;
    const admitted = askedFor(dispatch.admitted, way);
    const asked = await callUpstream(admitted, { ...context, cause: 'resume' }, deps);
    if (asked.kind === 'cancelled') return asked;
    if (asked.kind === 'answered') {
      const { includeUsage } = request;
      return {
        ...asked,
        dispatch,
        splice: createSplice(transcript, { way: way.splice, includeUsage }),
      };
    }
    plan.failed(dispatch, movingOn(asked.failure));
  }
}

/** Text of another model would be another answer, unless that is what the owner wants. */
function isAlike(call: UpstreamCall, broken: UpstreamCall, { config }: RequestContext): boolean {
  switch (config.routing.resume) {
    case 'any':
      return true;
    case 'same-model':
      return call.model !== '' && call.model === broken.model;
    case 'off':
      return false;
  }
}

/** How somebody can be asked for the rest. */
interface Way {
  readonly body: Buffer;
  readonly mode: AnswerMode;
  readonly splice: SpliceWay;
}

function wayOf(call: UpstreamCall, request: ChatRequest, transcript: Transcript): Way | null {
  const { prefill } = call;
  const model = call.model === '' ? null : call.model;
  if (prefill !== 'none') {
    const continued = continuedBody(request, { model, prefill, transcript });
    if (continued.kind === 'body') {
      const echo = mayEcho(prefill) ? continued.asked : null;
      return { body: continued.bytes, mode: 'rest', splice: { kind: 'continued', echo } };
    }
  }
  return isDeterministic(request.bytes)
    ? { body: bodyFor(request, model, false), mode: 'relay', splice: { kind: 'anew' } }
    : null;
}

function askedFor({ call, permits }: AdmittedCall, { body, mode }: Way): AdmittedCall {
  const write = () => ({ ...call.write(), body });
  return { permits, call: { ...call, mode, promptBytes: body.length, write } };
}

/** That it does not take a begun answer is no word to the caller; a refused credential is (design 4). */
function movingOn(failure: Failure): Failure {
  const isRefusal = failure.reason === 'http_401' || failure.reason === 'http_403';
  return isRefusal ? failure : { ...failure, fallBack: true };
}
