import {
  type CallAnswer,
  type CallDeps,
  callUpstream,
  type Turn,
} from '../../routing/call-upstream.ts';
import type { RoutedRequest } from '../../routing/candidates.ts';
import type { Walk } from '../../routing/walk.ts';
import type { Adjustment } from '../../upstream/adjustments.ts';
import type { AnswerMode } from '../../upstream/body-readers.ts';
import type { UpstreamCall } from '../../upstream/call.ts';
import type { ModelCatalogue } from '../../upstream/model-catalogue.ts';
import { continuingOf } from '../../upstream/upstreams.ts';
import { CHAT_COMPLETIONS } from '../../protocols/chat/endpoint.ts';
import type { JsonBody } from '../../protocols/json-edit.ts';
import type { Failure } from '../../upstream/failure.ts';
import { continuedBody, isDeterministic } from './continuation.ts';
import { createSplice, type Splice, type SpliceMode } from './splice.ts';
import { readTranscript, type Transcript } from './transcript.ts';

export interface ResumeDeps extends CallDeps {
  readonly catalogue: Pick<ModelCatalogue, 'listedBy'>;
}

interface BrokenAnswer {
  /** Who gave its last part. */
  readonly source: Turn;
  readonly walk: Walk;
  /** Null if it cannot be continued. */
  readonly sent: readonly Buffer[] | null;
}

export type ResumedAnswer = CallAnswer & {
  readonly transcript: Transcript;
  readonly splice: Splice;
};

/**
 * Calls the remaining candidates in routing order, and last an excluded one, to continue the partial answer
 * or, where the request is deterministic, to repeat it. The sent bytes are parsed here and not before.
 */
export async function resumeAnswer(
  { source, walk, sent }: BrokenAnswer,
  context: RoutedRequest,
  deps: ResumeDeps,
): Promise<ResumedAnswer | 'not_resumed' | 'cancelled'> {
  walk.broken(source);
  const transcript = sent === null ? null : await readTranscript(sent);
  if (transcript === null) return 'not_resumed';
  const requests = new Map<UpstreamCall, ResumeRequest | null>();
  const requestFor = (call: UpstreamCall) => {
    const request = requests.get(call) ?? resumeRequest(call, transcript, context, deps);
    requests.set(call, request);
    return request;
  };
  const mayCall = (call: UpstreamCall) =>
    isModelAccepted(source.call, call.model, context) && requestFor(call) !== null;
  for (;;) {
    if (context.signal.aborted) return 'cancelled';
    const turn = walk.next(mayCall) ?? walk.force(mayCall);
    const request = turn === null ? null : requestFor(turn.call);
    if (turn === null || request === null) return 'not_resumed';
    const { signal } = context;
    const rest = { call: request.call, cause: 'resume', walk, signal } as const;
    const outcome = await callUpstream(turn, context, deps, rest);
    if (outcome.kind === 'answered') {
      const splice = outcome.call === request.call ? request.splice : REPEATED;
      walk.answered(turn);
      return { ...outcome, transcript, splice: createSplice(transcript, splice) };
    }
    if (outcome.kind === 'cancelled') return 'cancelled';
    const failure = asFallback(outcome.failure);
    walk.failed(turn, failure);
    if (failure.fallBack === 'never') return 'not_resumed';
  }
}

/** Text of another model would be another answer, so the owner has to allow it. */
function isModelAccepted(broken: UpstreamCall, model: string, { config }: RoutedRequest): boolean {
  return config.routing.resume === 'any' || (model !== '' && model === broken.model);
}

/** Rejecting a partial answer says nothing about the request itself; refusing the caller's key does. */
function asFallback(failure: Failure): Failure {
  const isRefusal = failure.reason === 'http_401' || failure.reason === 'http_403';
  return isRefusal ? failure : { ...failure, fallBack: 'always' };
}

interface ResumeRequest {
  readonly call: UpstreamCall;
  readonly splice: SpliceMode;
}

const REPEATED: SpliceMode = { kind: 'repeated' };

/**
 * The call that asks an upstream for the rest; null if it cannot give it. It is a chat completion, in whichever protocol
 * the answer began: vLLM and SGLang would begin a message again.
 */
function resumeRequest(
  own: UpstreamCall,
  transcript: Transcript,
  context: RoutedRequest,
  { catalogue }: ResumeDeps,
): ResumeRequest | null {
  const call = own.request.endpoint === CHAT_COMPLETIONS ? own : own.inChat();
  if (call === null) return null;
  const { request, prefill } = call;
  const ownedBy = prefill.ownedBy ?? listedOwner(call, context, catalogue);
  const continuing = continuingOf({ ...prefill, ownedBy });
  const repeated = isDeterministic(request) ? withBody(call, request, 'relay') : null;
  const continued = continuing && continuedBody(request, { continuing, transcript });
  if (continuing === null || continued === null)
    return repeated === null ? null : { call: repeated, splice: REPEATED };
  const { body, ...continuation } = continued;
  const splice = { kind: 'continued', ...continuation, echo: continuing.echo } as const;
  return { call: { ...withBody(call, body, 'rest'), repeated }, splice };
}

/** The owner of the model as its hosted upstream last listed it, which names the engine of some; null while unknown. */
function listedOwner(
  { upstream, model }: UpstreamCall,
  { remotes }: RoutedRequest,
  catalogue: ResumeDeps['catalogue'],
): string | null {
  const remote = remotes.find(({ id }) => id === upstream);
  const listed = remote === undefined ? [] : catalogue.listedBy(remote);
  const owner = listed.find(({ id }) => id === model)?.owner ?? null;
  const owners = new Set(listed.map((each) => each.owner));
  const [only = null] = owners;
  // A list may omit aliases and adapters: then one owner of all its models is enough.
  return owner ?? (owners.size === 1 ? only : null);
}

/** Its answer is spliced first and translated afterwards, if at all. */
function withBody(call: UpstreamCall, body: JsonBody, mode: AnswerMode): UpstreamCall {
  const write = (made: ReadonlySet<Adjustment>) => call.write(made, body);
  // Another form of it would ask for the whole answer.
  const inChat = () => null;
  const request = { ...call.request, ...body };
  return { ...call, request, translator: null, mode, write, inChat };
}
