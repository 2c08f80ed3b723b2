import {
  type AnsweredCall,
  type CallDeps,
  type CallOutcome,
  callUpstream,
} from '../../routing/call-upstream.ts';
import type { RoutedRequest } from '../../routing/candidates.ts';
import type { Turn, Walk } from '../../routing/walk.ts';
import { adjustedBody, type Adjustment } from '../../upstream/adjustments.ts';
import type { AnswerMode } from '../../upstream/body-readers.ts';
import type { UpstreamCall } from '../../upstream/call.ts';
import type { ItemMemory } from '../../protocols/responses/history.ts';
import { askingFor, bodyFor, type ChatRequest } from '../../protocols/chat-request.ts';
import type { Failure } from '../../upstream/failure.ts';
import { continuedBody, isDeterministic } from './continuation.ts';
import type { Prefills } from './prefills.ts';
import { createSplice, type Splice, type SpliceMode } from './splice.ts';
import { readTranscriptInTurns, type Transcript } from './transcript.ts';

export interface ResumeDeps extends CallDeps {
  readonly prefills: Prefills;
  readonly items: ItemMemory;
}

interface BrokenAnswer {
  readonly request: ChatRequest;
  /** Who gave its last part. */
  readonly source: Turn;
  /** The call of the source that was asked to continue and seems to have begun the answer from the start; null for none. */
  readonly restarted: UpstreamCall | null;
  readonly walk: Walk;
  readonly sent: readonly Buffer[];
}

export type ResumedAnswer = AnsweredCall & {
  readonly transcript: Transcript;
  readonly mode: SpliceMode['kind'];
  readonly splice: Splice;
};

type ResumeResult =
  ResumedAnswer | { readonly kind: 'not_resumed' } | { readonly kind: 'cancelled' };

const NOT_RESUMED: ResumeResult = { kind: 'not_resumed' };

/**
 * Calls the remaining candidates in routing order, and last an excluded one, to continue the partial answer
 * or, where the request is deterministic, to repeat it. The sent bytes are parsed here and not before.
 */
export async function resumeAnswer(
  { request, source, restarted, walk, sent }: BrokenAnswer,
  context: RoutedRequest,
  deps: ResumeDeps,
): Promise<ResumeResult> {
  const { call: broken } = source;
  const transcript = await readTranscriptInTurns(sent);
  const resumer =
    transcript.kind === 'transcript' ? createResumer(request, transcript, context, deps) : null;
  if (restarted !== null) {
    deps.prefills.refused(restarted);
    const repeated = (await resumer?.repeat(source)) ?? NOT_RESUMED;
    if (repeated.kind === 'answered' || repeated.kind === 'cancelled') return repeated;
  }
  walk.broken(source);
  if (resumer === null) return NOT_RESUMED;
  // The engines of local machines are known, so those are called before waiting for lists of models.
  let isLocalOnly = broken.upstream === 'local';
  for (;;) {
    if (!isLocalOnly) await learnPrefills(broken, walk, context, deps.prefills);
    if (context.signal.aborted) return { kind: 'cancelled' };
    const turn = nextTurn(broken, { walk, resumer, isLocalOnly }, context);
    if (turn === null) {
      if (!isLocalOnly) return NOT_RESUMED;
      isLocalOnly = false;
      continue;
    }
    const end = await resumer.resume(turn);
    if (end.kind !== 'failed') return end;
    const failure = asFallback(end.failure);
    walk.failed(turn, failure);
    if (failure.fallBack === 'never') return NOT_RESUMED;
  }
}

async function learnPrefills(
  broken: UpstreamCall,
  walk: Walk,
  context: RoutedRequest,
  prefills: Prefills,
): Promise<void> {
  const { zeroSpend, request } = context.call;
  if (zeroSpend) return;
  const ahead = walk.ahead();
  const candidates = context.remotes
    .map((upstream) => ({ upstream, model: upstream.model ?? request.model ?? '' }))
    .filter(
      ({ upstream, model }) =>
        isModelAccepted(broken, model, context) && ahead.includes(upstream.id),
    );
  await prefills.learn(candidates);
}

/** The next call that can resume the answer; a forced one when no other is left. */
function nextTurn(
  broken: UpstreamCall,
  {
    walk,
    resumer,
    isLocalOnly,
  }: {
    readonly walk: Walk;
    readonly resumer: Resumer;
    readonly isLocalOnly: boolean;
  },
  context: RoutedRequest,
): Turn | null {
  const filter = (call: UpstreamCall) => {
    const isInTurn = !isLocalOnly || call.upstream === 'local';
    return isInTurn && isModelAccepted(broken, call.model, context) && resumer.canResume(call);
  };
  return walk.next(filter) ?? (isLocalOnly ? null : walk.forceSoonest(filter));
}

/** Text of another model would be another answer, so the owner has to allow it. */
function isModelAccepted(broken: UpstreamCall, model: string, { config }: RoutedRequest): boolean {
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
  return isRefusal ? failure : { ...failure, fallBack: 'always' };
}

interface ResumeRequest {
  /** In the form that is asked for: the caller's own, or a chat completion. */
  readonly call: UpstreamCall;
  readonly body: Buffer;
  readonly mode: AnswerMode;
  readonly splice: SpliceMode;
}

type ResumeEnd = ResumeResult | Extract<CallOutcome, { readonly kind: 'failed' }>;

type Resumer = ReturnType<typeof createResumer>;

/** Calls upstreams for the rest of the answer that begins with `transcript`. */
function createResumer(
  request: ChatRequest,
  transcript: Transcript,
  context: RoutedRequest,
  deps: ResumeDeps,
) {
  const canRepeat = isDeterministic(request);
  const cached = new Map<UpstreamCall, readonly ResumeRequest[]>();

  /** In order of preference. */
  function requestsFor(call: UpstreamCall): readonly ResumeRequest[] {
    const known = cached.get(call);
    if (known !== undefined) return known;
    const forms = formsOf(call, request);
    const requests = [...forms.flatMap(continuationFor), ...forms.flatMap(repetitionFor)];
    // Not cached where there is none: its engine may be known by the next time.
    if (requests.length > 0) cached.set(call, requests);
    return requests;
  }

  function continuationFor(call: UpstreamCall): readonly ResumeRequest[] {
    const continuing = deps.prefills.of(call);
    if (continuing === null) return [];
    const body = continuedBody(call.request, { model: modelOf(call), continuing, transcript });
    if (body.kind === 'not_possible') return [];
    const { kind: _, bytes, ...continuation } = body;
    const { echo } = continuing;
    const splice = { kind: 'continued', ...continuation, echo } as const;
    return [{ call, body: bytes, mode: 'rest', splice }];
  }

  function repetitionFor(call: UpstreamCall): readonly ResumeRequest[] {
    if (!canRepeat) return [];
    const body = bodyFor(call.request, modelOf(call), NOTHING_MORE);
    return [{ call, body, mode: 'relay', splice: { kind: 'repeated' } }];
  }

  async function send(turn: Turn, resumeRequest: ResumeRequest): Promise<ResumeEnd> {
    const rest = { call: withRequest(resumeRequest), cause: 'resume' } as const;
    const outcome = await callUpstream(turn, context, deps, rest);
    if (outcome.kind !== 'answered') return outcome;
    const mode = withJsonEcho(resumeRequest.splice, outcome.seen);
    const splice = createSplice(transcript, mode);
    return { ...outcome, transcript, mode: mode.kind, splice };
  }

  async function sendAgain(turn: Turn, resumeRequest: ResumeRequest): Promise<ResumeEnd> {
    const isAdmitted = turn.readmit(turn.call, deps.circuits, context.epoch);
    return isAdmitted ? send(turn, resumeRequest) : NOT_RESUMED;
  }

  return {
    canResume: (call: UpstreamCall) => requestsFor(call).length > 0,
    /** Calls the same upstream again; its circuit is asked for a new permit. */
    async repeat(turn: Turn): Promise<ResumeEnd> {
      const [repetition] = formsOf(turn.call, request).flatMap(repetitionFor);
      return repetition === undefined ? NOT_RESUMED : sendAgain(turn, repetition);
    },
    /** Asks to continue; an upstream that refuses is asked in another way, if there is one. */
    async resume(turn: Turn): Promise<ResumeEnd> {
      let end: ResumeEnd = NOT_RESUMED;
      for (const asked of requestsFor(turn.call)) {
        const next: ResumeEnd =
          end === NOT_RESUMED ? await send(turn, asked) : await sendAgain(turn, asked);
        if (next.kind === 'not_resumed') return end;
        end = next;
        if (!isAskedOtherwise(asked, end)) return end;
        deps.prefills.refused(asked.call);
      }
      return end;
    },
  };
}

/** The forms in which an upstream can be asked for the rest, first that in which the answer was asked for. */
function formsOf(call: UpstreamCall, begun: ChatRequest): readonly UpstreamCall[] {
  const forms = [call, call.inChat()].filter((form) => form !== null);
  return forms
    .filter(({ request }) => request.endpoint.isResumable)
    .toSorted((a, b) => Number(b.request === begun) - Number(a.request === begun));
}

/** From engines that accept no partial answer; a prompt that is too long has a reason of its own. */
const PREFILL_REFUSALS: ReadonlySet<string> = new Set(['http_400', 'http_422']);

/** Whether the upstream may still take another request for the same: it lacks the endpoint, or does not continue. */
function isAskedOtherwise({ splice }: ResumeRequest, end: ResumeEnd): boolean {
  if (end.kind !== 'failed') return false;
  const { reason } = end.failure;
  return reason === 'unsupported' || (splice.kind === 'continued' && PREFILL_REFUSALS.has(reason));
}

const modelOf = ({ model }: UpstreamCall) => (model === '' ? null : model);

const NOTHING_MORE = { forStream: false, forUsage: false, forStop: false };

/** Its answer is spliced first and translated afterwards, if at all. */
function withRequest({ call, body, mode }: ResumeRequest): UpstreamCall {
  const write = (made: ReadonlySet<Adjustment>) => {
    const forUsage = call.asksForUsage && !made.has('without_usage');
    const asking = askingFor(body, { forUsage, forStop: call.asksForStop });
    return { ...call.write(NO_CHANGE), body: adjustedBody(asking, made) };
  };
  // Another form of it would ask for the whole answer.
  const inChat = () => null;
  return { ...call, translator: null, mode, promptBytes: body.length, write, inChat };
}

const NO_CHANGE: ReadonlySet<Adjustment> = new Set();

/** Engines that stream only new text may echo in a JSON answer, as llama.cpp does. */
function withJsonEcho(mode: SpliceMode, { kind }: AnsweredCall['seen']): SpliceMode {
  const mayEcho = mode.kind === 'continued' && mode.echo === 'never' && kind === 'answer';
  return mayEcho ? { ...mode, echo: 'maybe' } : mode;
}
