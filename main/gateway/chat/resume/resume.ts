import type { AdmittedCall } from '../../routing/candidate.ts';
import type { Dispatch, FallbackPlan } from '../../routing/fallback-plan.ts';
import { type CallDeps, type AttemptOutcome, callUpstream } from '../../routing/retry.ts';
import type { RequestContext } from '../../routing/router.ts';
import type { AnswerMode } from '../../upstream/attempt.ts';
import type { UpstreamCall } from '../../upstream/call.ts';
import { bodyFor } from '../../upstream/chat-request.ts';
import type { Failure } from '../../upstream/failure.ts';
import { continuedBody, isDeterministic } from './continuation.ts';
import type { Prefills } from './prefills.ts';
import { createSplice, type Splice } from './splice.ts';
import type { SpliceWay } from './text-splice.ts';
import { readTranscriptInTurns, type Transcript } from './transcript.ts';

/** What carrying an answer on needs of the world. */
export interface ResumeDeps extends CallDeps {
  readonly prefills: Prefills;
}

type Answered = Extract<AttemptOutcome, { readonly kind: 'answered' }>;

/** An answer that broke off, and what the caller has of it. */
export interface BrokenAnswer {
  /** Whose answer it was, the last part at least. */
  readonly giver: Dispatch;
  /** It was asked to go on and began anew, as far as one can tell; it is none to go on with. */
  readonly isAnew: boolean;
  readonly plan: FallbackPlan;
  readonly sent: readonly Buffer[];
}

/** What came of looking for somebody who carries an answer on. */
export type ResumeResult =
  | (Answered & {
      readonly dispatch: Dispatch;
      readonly way: SpliceWay['kind'];
      /** Makes its events the rest of the answer that was begun. */
      readonly splice: Splice;
    })
  | { readonly kind: 'nobody' }
  | { readonly kind: 'cancelled' };

const NOBODY: ResumeResult = { kind: 'nobody' };

/**
 * Asks those that are still ahead, in routing order and last one that is out, to go on from what the caller has been sent, or, where
 * the request is deterministic, for the whole answer again. Nothing of this is parsed before an answer breaks.
 */
export async function resumeAnswer(
  { giver, isAnew, plan, sent }: BrokenAnswer,
  context: RequestContext,
  deps: ResumeDeps,
): Promise<ResumeResult> {
  const { call: broken } = giver.admitted;
  const transcript = await readTranscriptInTurns(sent);
  const begun = transcript.kind === 'transcript' ? begunAnswer(transcript, context, deps) : null;
  if (isAnew) {
    deps.prefills.refused(broken);
    const again = (await begun?.askAnew(giver)) ?? NOBODY;
    if (again.kind === 'answered' || again.kind === 'cancelled') return again;
  }
  plan.broken(giver);
  if (begun === null) return NOBODY;
  // A caller waits: peers of an own machine are known, and need not wait for what others say of themselves.
  let isAmongPeers = broken.upstream === 'local';
  for (;;) {
    if (!isAmongPeers) await learnAhead(broken, plan, context, deps.prefills);
    if (context.signal.aborted) return { kind: 'cancelled' };
    const dispatch = nextFor(broken, { plan, begun, isAmongPeers }, context);
    if (dispatch === null) {
      if (!isAmongPeers) return NOBODY;
      isAmongPeers = false;
      continue;
    }
    const end = await begun.ask(dispatch);
    if (end.kind !== 'failed') return end;
    const failure = movingOn(end.failure);
    plan.failed(dispatch, failure);
    if (!failure.fallBack) return NOBODY;
  }
}

/** Learns what is not known of hosted upstreams that may be asked next. */
async function learnAhead(
  broken: UpstreamCall,
  plan: FallbackPlan,
  context: RequestContext,
  prefills: Prefills,
): Promise<void> {
  const { zeroSpend, request } = context.call;
  if (zeroSpend) return;
  const ahead = context.remotes
    .map((upstream) => ({ upstream, model: upstream.model ?? request.model ?? '' }))
    .filter(
      ({ upstream, model }) =>
        isAlikeTo(broken, model, context) && plan.hasMore((id) => id === upstream.id),
    );
  await prefills.learn(ahead);
}

/** The next one that may carry the answer on; those that are out come after all that are well. */
function nextFor(
  broken: UpstreamCall,
  {
    plan,
    begun,
    isAmongPeers,
  }: {
    readonly plan: FallbackPlan;
    readonly begun: ReturnType<typeof begunAnswer>;
    readonly isAmongPeers: boolean;
  },
  context: RequestContext,
): Dispatch | null {
  const wanted = (call: UpstreamCall) => {
    const isTheirTurn = !isAmongPeers || call.upstream === 'local';
    return isTheirTurn && isAlikeTo(broken, call.model, context) && begun.canBeAsked(call);
  };
  return plan.next('admit', wanted) ?? (isAmongPeers ? null : plan.soonest(wanted));
}

/** Text of another model would be another answer, unless that is what the owner wants. */
function isAlikeTo(broken: UpstreamCall, model: string, { config }: RequestContext): boolean {
  switch (config.routing.resume) {
    case 'any':
      return true;
    case 'same-model':
      return model !== '' && model === broken.model;
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

type End = ResumeResult | Extract<AttemptOutcome, { readonly kind: 'failed' }>;

/** Asks for the rest of the answer that `transcript` begins. */
function begunAnswer(transcript: Transcript, context: RequestContext, deps: ResumeDeps) {
  const { request } = context.call;
  const mayBeAnew = isDeterministic(request);
  const errand = { ...context, cause: 'resume' as const };
  const ways = new Map<UpstreamCall, readonly Way[]>();

  function continued(call: UpstreamCall): readonly Way[] {
    const continuing = deps.prefills.of(call);
    if (continuing === null) return [];
    const { prefill, echo } = continuing;
    const body = continuedBody(request, { model: modelOf(call), prefill, transcript });
    if (body.kind === 'not_possible') return [];
    const { bytes, asked, seam } = body;
    return [{ body: bytes, mode: 'rest', splice: { kind: 'continued', asked, seam, echo } }];
  }

  function anew(call: UpstreamCall): readonly Way[] {
    const body = bodyFor(request, modelOf(call), false);
    return mayBeAnew ? [{ body, mode: 'relay', splice: { kind: 'anew' } }] : [];
  }

  function waysOf(call: UpstreamCall): readonly Way[] {
    const known = ways.get(call) ?? [...continued(call), ...anew(call)];
    // One of which nothing is known may have said more of itself by the next time.
    if (known.length > 0) ways.set(call, known);
    return known;
  }

  async function askBy(dispatch: Dispatch, admitted: AdmittedCall, way: Way): Promise<End> {
    const asked = await callUpstream(askedFor(admitted, way), errand, deps);
    if (asked.kind !== 'answered') return asked;
    const { includeUsage } = request;
    const splice = createSplice(transcript, {
      way: asWritten(way.splice, asked.seen),
      includeUsage,
    });
    return { ...asked, dispatch, way: way.splice.kind, splice };
  }

  /** Once more where it was asked already; its circuit is entered anew, as the first call has left it. */
  async function askAnew(dispatch: Dispatch): Promise<End> {
    const { call, permits } = dispatch.admitted;
    const [way] = anew(call);
    if (way === undefined) return NOBODY;
    const entry = deps.circuits.admitRetry(permits.own.id, call, context.epoch);
    if (entry.kind === 'excluded') return NOBODY;
    const own = { id: permits.own.id, permit: entry.permit };
    return askBy(dispatch, { call, permits: { ...permits, own } }, way);
  }

  return {
    canBeAsked: (call: UpstreamCall) => waysOf(call).length > 0,
    askAnew,
    /** One that will not go on is asked for the whole answer, where that should be the same. */
    async ask(dispatch: Dispatch): Promise<End> {
      const { call } = dispatch.admitted;
      const [way] = waysOf(call);
      if (way === undefined) return NOBODY;
      const end = await askBy(dispatch, dispatch.admitted, way);
      const isRefused = end.kind === 'failed' && REFUSALS.has(end.failure.reason);
      if (way.splice.kind === 'anew' || !isRefused) return end;
      deps.prefills.refused(call);
      const again = await askAnew(dispatch);
      return again.kind === 'nobody' ? end : again;
    },
  };
}

/** What an engine says that takes no begun answer; a prompt that is too long has a reason of its own. */
const REFUSALS: ReadonlySet<string> = new Set(['http_400', 'http_422']);

const modelOf = ({ model }: UpstreamCall) => (model === '' ? null : model);

/** Engines that say only what is new in a stream may say all of it in JSON, as llama.cpp does. */
function asWritten(way: SpliceWay, { kind }: Answered['seen']): SpliceWay {
  const isUnsure = way.kind === 'continued' && way.echo === 'never' && kind === 'answer';
  return isUnsure ? { ...way, echo: 'maybe' } : way;
}

function askedFor({ call, permits }: AdmittedCall, { body, mode }: Way): AdmittedCall {
  const write = () => ({ ...call.write(), body });
  return { permits, call: { ...call, mode, promptBytes: body.length, write } };
}

/** Rejecting a partial answer says nothing about the request; refusing the caller's credential does. */
function movingOn(failure: Failure): Failure {
  const isRefusal = failure.reason === 'http_401' || failure.reason === 'http_403';
  return isRefusal ? failure : { ...failure, fallBack: true };
}
