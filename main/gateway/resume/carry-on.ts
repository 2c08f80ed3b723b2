import { askUpstream, type AskDeps, type Asked } from '../asking.ts';
import type { AnswerMode } from '../attempt.ts';
import type { Failure } from '../outcome/outcomes.ts';
import { bodyFor, type ChatRequest } from '../request/chat-request.ts';
import type { UpstreamCall } from '../request/calls.ts';
import type { Journey } from '../router.ts';
import type { Leg } from '../walk/stop.ts';
import type { Step, Walk } from '../walk/walk.ts';
import { continuedBody } from './continued-body.ts';
import { isDeterministic } from './determinism.ts';
import { mayEcho } from './prefill.ts';
import { createSplice, type Splice } from './splice.ts';
import type { SpliceWay } from './text-splice.ts';
import { readTranscript, type Transcript } from './transcript.ts';

type Answered = Extract<Asked, { readonly kind: 'answered' }>;

/** An answer that broke off, and what the caller has of it. */
export interface BrokenAnswer {
  /** The call that it came from. */
  readonly call: UpstreamCall;
  readonly walk: Walk;
  readonly sent: readonly Buffer[];
}

/** What came of looking for somebody who carries an answer on. */
export type CarriedOn =
  | (Answered & {
      readonly step: Step;
      /** Makes its events the rest of the answer that was begun. */
      readonly splice: Splice;
    })
  | { readonly kind: 'nobody' }
  | { readonly kind: 'cancelled' };

const NOBODY: CarriedOn = { kind: 'nobody' };

/**
 * Asks those that are still ahead, in routing order and last one that is out, to go on from what the caller has been sent, or, where
 * the request is deterministic, for the whole answer again. Nothing of this is parsed before an answer breaks.
 */
export async function carryOn(
  { call: broken, walk, sent }: BrokenAnswer,
  journey: Journey,
  deps: AskDeps,
): Promise<CarriedOn> {
  const { request } = journey.call;
  const transcript = readTranscript(sent);
  if (transcript.kind === 'not_resumable') return NOBODY;
  const ways = new Map<UpstreamCall, Way>();
  const wanted = (call: UpstreamCall) => {
    if (!isAlike(call, broken, journey)) return false;
    const way = wayOf(call, request, transcript);
    if (way !== null) ways.set(call, way);
    return way !== null;
  };
  for (;;) {
    const step = walk.next('enter', wanted) ?? walk.soonest(wanted);
    const way = step === null ? undefined : ways.get(step.leg.call);
    if (step === null || way === undefined) return NOBODY;
    const leg = askedFor(step.leg, way);
    const asked = await askUpstream(leg, { ...journey, cause: 'resume' }, deps);
    if (asked.kind === 'cancelled') return asked;
    if (asked.kind === 'answered') {
      const { includeUsage } = request;
      return {
        ...asked,
        step,
        splice: createSplice(transcript, { way: way.splice, includeUsage }),
      };
    }
    walk.failed(step, movingOn(asked.failure));
  }
}

/** Text of another model would be another answer, unless that is what the owner wants. */
function isAlike(call: UpstreamCall, broken: UpstreamCall, { config }: Journey): boolean {
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

function askedFor({ call, pass }: Leg, { body, mode }: Way): Leg {
  const write = () => ({ ...call.write(), body });
  return { pass, call: { ...call, mode, promptBytes: body.length, write } };
}

/** That it does not take a begun answer is no word to the caller; a refused credential is (design 4). */
function movingOn(failure: Failure): Failure {
  const isRefusal = failure.reason === 'http_401' || failure.reason === 'http_403';
  return isRefusal ? failure : { ...failure, fallBack: true };
}
