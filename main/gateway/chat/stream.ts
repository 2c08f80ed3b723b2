import type { ServerResponse } from 'node:http';
import type { Tokens } from '#shared/usage.ts';
import type { Attempt } from '../routing/attempts.ts';
import type { Dispatch } from '../routing/candidate.ts';
import type { FallbackPlan } from '../routing/fallback-plan.ts';
import type { RequestContext } from '../routing/router.ts';
import type { StreamTranslator } from '../upstream/answer-translation.ts';
import type { AnswerSeen, StreamSeen } from '../upstream/attempt.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import type { ChatRequest } from '../upstream/chat-request.ts';
import type { StreamFormat } from '../upstream/endpoint.ts';
import { createFramer } from '../upstream/sse.ts';
import { estimatedTokens, UsageMeter } from '../upstream/usage.ts';
import { breakOff, relay, type RelayEnd } from './relay.ts';
import { resumeAnswer, type ResumeDeps, type ResumedAnswer } from './resume/resume.ts';
import { createSentBytes, type SentBytes } from './resume/sent-bytes.ts';
import type { Splice } from './resume/splice.ts';

/** A committed stream, the dispatch that it came from and the candidates that are left. */
export interface Committed {
  readonly call: UpstreamCall;
  readonly seen: StreamSeen;
  readonly attempt: Attempt;
  readonly hidesUsage: boolean;
  readonly dispatch: Dispatch;
  readonly plan: FallbackPlan;
}

/** What the parts of one answer share, whichever upstream they come from. */
interface StreamContext {
  readonly format: StreamFormat;
  readonly res: ServerResponse;
  readonly context: RequestContext;
  readonly deps: ResumeDeps;
  /** As it was asked for: of a translated answer the chat form. */
  readonly request: ChatRequest;
  readonly translator: StreamTranslator | null;
  /** Null if the answer could not be resumed. */
  readonly sent: SentBytes | null;
}

/**
 * Relays a committed answer to its end. If it breaks off, a remaining candidate resumes it in the same
 * response where that is possible; otherwise it ends with one error event and no `[DONE]`.
 */
export function relayToEnd(
  { call, seen, attempt, hidesUsage, dispatch, plan }: Committed,
  format: StreamFormat,
  res: ServerResponse,
  { context, deps }: Pick<StreamContext, 'context' | 'deps'>,
): Promise<RelayEnd['kind']> {
  const { request } = call;
  const translator = call.translator?.createStream() ?? null;
  const sent = mayResume(request, plan, context) ? createSentBytes() : null;
  const stream = { format, res, context, deps, request, translator, sent };
  const first = relayStream({ seen, attempt, hidesUsage, splice: null }, stream);
  // Not awaited here: an async function keeps its arguments, the first events' memory included, to its end.
  return resumeUntilEnded(first, { dispatch, plan }, stream);
}

/** Sent bytes are kept, which costs memory, only where another upstream might resume the answer. */
function mayResume(request: ChatRequest, plan: FallbackPlan, { config }: RequestContext): boolean {
  const isAllowed = config.routing.resume !== 'off' && request.endpoint.isResumable;
  return isAllowed && request.choices === 1 && plan.hasFallback();
}

function relayStream(
  {
    seen,
    attempt,
    hidesUsage,
    splice,
  }: {
    readonly seen: StreamSeen;
    readonly attempt: Attempt;
    readonly hidesUsage: boolean;
    readonly splice: Splice | null;
  },
  { format, res, context, deps, request, translator, sent }: StreamContext,
): Promise<RelayEnd> {
  const { observer, target } = attempt;
  const meter = new UsageMeter(hidesUsage);
  let relayedEvents = 0;
  const relayed = relay(seen, res, {
    idleTimeoutMs: context.config.routing.idleTimeoutMs,
    format,
    choices: request.choices,
    translator,
    clock: deps.clock,
    signal: context.signal,
    meter,
    onEvents(count, cameAt) {
      relayedEvents += count;
      observer.relayed(count, cameAt);
    },
    sent,
    splice,
  });
  attempt.answering(seen.contentAt);
  // Engines send about one token an event.
  const used = () => meter.tokens() ?? estimatedTokens(target.promptBytes, relayedEvents);
  return recorded(relayed, attempt, used);
}

async function recorded(
  relayed: Promise<RelayEnd>,
  attempt: Attempt,
  used: () => Tokens,
): Promise<RelayEnd> {
  const end = await relayed;
  attempt.used(used());
  record(end, attempt);
  return end;
}

export function record(end: RelayEnd, attempt: Attempt): void {
  switch (end.kind) {
    case 'complete':
      return attempt.succeeded();
    case 'broken':
      return attempt.broken(end.detail);
    // An answer that differs from another upstream's is not a failure.
    case 'diverged':
    case 'cancelled':
      return attempt.cancelled();
  }
}

async function resumeUntilEnded(
  first: Promise<RelayEnd>,
  { dispatch, plan }: Pick<Committed, 'dispatch' | 'plan'>,
  stream: StreamContext,
): Promise<RelayEnd['kind']> {
  const { format, res, context, deps, request, translator, sent } = stream;
  let end = await first;
  let source = dispatch;
  let mode: ResumedAnswer['mode'] | null = null;
  // An upstream that was asked to continue and began again from the start is passed over; one that was asked to
  // repeat and differs is the end.
  while (end.kind === 'broken' || (end.kind === 'diverged' && mode === 'continued')) {
    const isOver = translator !== null && translator.ended() !== 'no';
    const bytes = isOver ? null : (sent?.taken() ?? null);
    if (bytes === null) {
      plan.broken(source);
      plan.close(null);
      break;
    }
    const broken = { request, source, hasRestarted: end.kind === 'diverged', plan, sent: bytes };
    const next = await resumeAnswer(broken, context, deps);
    if (next.kind !== 'answered') plan.close(null);
    if (next.kind === 'cancelled') return next.kind;
    if (next.kind === 'not_resumed') break;
    announce(next, res);
    source = next.dispatch;
    mode = next.mode;
    end = await relayRest(next, stream);
  }
  const errorEvent = translator?.fail ?? format.errorEvent;
  if (end.kind === 'broken') breakOff(res, errorEvent, end);
  if (end.kind === 'diverged')
    breakOff(res, errorEvent, { ...end, code: 'upstream_bad_response', error: null });
  return end.kind;
}

function relayRest(next: ResumedAnswer, stream: StreamContext): Promise<RelayEnd> | RelayEnd {
  const { seen } = next;
  switch (seen.kind) {
    case 'stream':
      return relayStream({ ...next, seen }, stream);
    case 'answer':
      return writeWhole(seen, next, stream);
    case 'bytes':
      seen.exchange.abort();
      return { kind: 'diverged', detail: 'an answer without events' };
  }
}

/** An SSE comment, which clients skip. */
function announce({ call }: ResumedAnswer, res: ServerResponse): void {
  const source = call.provider === null ? call.upstream : `${call.upstream}/${call.provider}`;
  res.write(`: carried on by ${source}\n\n`);
}

/** Writes the rest of an answer that came as JSON although a stream was requested. */
function writeWhole(
  { body, contentAt }: AnswerSeen,
  { splice, attempt }: ResumedAnswer,
  { format, res, request, translator, sent }: StreamContext,
): RelayEnd {
  const events = Buffer.from(format.asEvents?.(body, request.includeUsage) ?? '');
  const frames = createFramer().push(events);
  const spliced = frames === null ? null : splice.push(frames);
  const rest = spliced?.kind === 'frames' ? spliced.frames : null;
  if (rest !== null) {
    sent?.add(rest.bytes);
    res.write(translator === null ? rest.bytes : translator.push(rest));
  }
  const end = spliced === null ? WITHOUT_EVENTS : endOfWhole(spliced, res, translator);
  attempt.answering(contentAt);
  record(end, attempt);
  return end;
}

const WITHOUT_EVENTS: RelayEnd = {
  kind: 'broken',
  code: 'upstream_bad_response',
  detail: 'an answer without events',
  error: null,
};

function endOfWhole(
  spliced: ReturnType<Splice['push']>,
  res: ServerResponse,
  translator: StreamTranslator | null,
): RelayEnd {
  if (spliced.kind === 'diverged') return spliced;
  const last = translator?.end();
  if (translator?.ended() === 'failed') return WITHOUT_EVENTS;
  res.end(last);
  return { kind: 'complete' };
}
