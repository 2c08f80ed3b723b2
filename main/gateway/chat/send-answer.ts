import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { bytesType, toCaller } from '../../platform/http/passed-headers.ts';
import { type HttpError, STREAM_HEAD } from '../../platform/http/responses.ts';
import { parseJson } from '../../platform/json.ts';
import type { Log } from '../../platform/log.ts';
import type { Attempt, CallAnswer, Turn } from '../routing/call-upstream.ts';
import type { RequestEnd } from '../routing/observer.ts';
import { fallbackReason, sourceName } from '../routing/outcomes.ts';
import type { RouteResult } from '../routing/route.ts';
import type { Walk } from '../routing/walk.ts';
import type { DroppedFields, StreamTranslator } from '../protocols/translation/translation.ts';
import type { BytesAnswer, StreamAnswer } from '../upstream/exchange.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import { shownWords } from '../protocols/upstream-error.ts';
import { type CallFacts, classify, type Failure } from '../upstream/failure.ts';
import type { ChatRequest } from '../protocols/chat-request.ts';
import type { ApiEndpoint, StreamFormat } from '../protocols/endpoint.ts';
import type { ItemMemory } from '../protocols/responses/item-memory.ts';
import { smallValueOf } from '../protocols/json-edit.ts';
import { dataOf, type Frames } from '../protocols/sse.ts';
import { tokensOf, UsageMeter } from '../protocols/tokens.ts';
import { type CallerContext, type FinalDeps, sendFinalResponse } from './final-error.ts';
import {
  createSentBytes,
  record,
  relay,
  relayBytes,
  type RelayEnd,
  type SentBytes,
  type BadEnd,
  badEnd,
} from './relay.ts';
import { callHeaders, EVENT_STREAM, repairedHeader } from './response.ts';
import { resumeAnswer, type ResumedAnswer, type ResumeDeps } from './resume/resume.ts';
import type { Splice } from './resume/splice.ts';

export interface AnswerContext extends CallerContext {
  /** The calls that are left, should the answer break off. */
  readonly walk: Walk;
  readonly res: ServerResponse;
  /** Of the caller's key. */
  readonly items: ItemMemory | null;
  readonly deps: ResumeDeps & FinalDeps & { readonly noteDropped: DropLogger };
}

/** Sends the result of routing; resolves when all of it is sent or the caller is gone. */
export function answerChat(routed: RouteResult, to: AnswerContext): Promise<RequestEnd> {
  switch (routed.kind) {
    case 'answered':
      return sendAnswer(routed, to);
    case 'unanswered':
      return Promise.resolve(sendFinalResponse(routed, to));
    case 'cancelled':
      return Promise.resolve('cancelled');
  }
}

function sendAnswer(answer: CallAnswer, to: AnswerContext): Promise<RequestEnd> {
  const { base, context, response, items, deps } = to;
  const { observer } = context;
  const { call, seen, attempt, turn } = answer;
  const reason = fallbackReason(turn.before());
  const headers = { ...toCaller(seen.headers), ...base, ...callHeaders(call, reason) };
  const dropped = call.translator?.dropped;
  if (dropped !== undefined) deps.noteDropped(dropped, context.call.request.endpoint.upstreamPath);
  const head = { status: 200, upstream: call.upstream, fallbackReason: reason };
  switch (seen.kind) {
    case 'stream': {
      response.head(headers);
      const relayed = relayToEnd({ ...answer, seen }, to);
      observer.answering(head);
      return relayed;
    }
    case 'bytes':
      observer.answering(head);
      return relayBytesToEnd(seen, answer, headers, to);
    case 'answer': {
      observer.answering(head);
      const { endpoint } = call.request;
      const { body, contentAt, repairedCalls } = seen;
      const type = call.request.stream ? EVENT_STREAM : 'application/json';
      attempt.repairedCalls = repairedCalls;
      response.send(body, { ...headers, ...repairedHeader(repairedCalls), 'content-type': type });
      attempt.answering(contentAt);
      attempt.end({ kind: 'served' });
      if (call.translator === null && endpoint.itemsOf !== undefined)
        keepItems(body.toString('utf8'), call.request, endpoint, items);
      return Promise.resolve('done');
    }
  }
}

/** What the parts of one answer share, whichever upstream they come from. */
interface StreamContext extends AnswerContext {
  readonly format: StreamFormat;
  /** As it was asked for: of a translated answer the chat form. */
  readonly request: ChatRequest;
  /** Null if the events are in the caller's protocol. */
  readonly translator: StreamTranslator | null;
  /** Null if the answer could not be resumed. */
  readonly sent: SentBytes | null;
}

type StreamCall = CallAnswer & { readonly seen: StreamAnswer };

/**
 * Relays a committed answer to its end. If it breaks off, a remaining candidate resumes it in the same
 * response where that is possible; otherwise it ends with one error event and no `[DONE]`.
 */
function relayToEnd(answer: StreamCall, to: AnswerContext): Promise<RequestEnd> {
  const { request, translator: ofCall } = answer.call;
  const format = request.endpoint.answer.stream;
  if (format === null) throw new Error('a stream of an endpoint without streams');
  const translator = to.response.translator(ofCall?.createStream() ?? null);
  const sent = mayResume(request, to) ? createSentBytes() : null;
  const stream = { ...to, format, request, translator, sent };
  const first = relayStream(answer, null, stream);
  // Not awaited here: an async function keeps its arguments, the first events' memory included, to its end.
  return resumeUntilEnded(first, answer.turn, stream);
}

/** Sends the length where it is known: HTTP/1.0 callers could not tell otherwise that the answer was cut off. */
async function relayBytesToEnd(
  seen: BytesAnswer,
  { attempt, turn, call }: CallAnswer,
  headers: OutgoingHttpHeaders,
  { res, walk, context, deps: { clock } }: AnswerContext,
): Promise<RequestEnd> {
  const { config, signal } = context;
  const { 'content-length': length, 'content-encoding': coding } = seen.headers;
  const own = { 'content-type': bytesType(seen.headers), ...STREAM_HEAD };
  const head: OutgoingHttpHeaders = { ...headers, ...own };
  // Decoded bytes have another length.
  if (typeof length === 'string' && coding === undefined) head['content-length'] = length;
  res.writeHead(200, head);
  attempt.answering(seen.contentAt);
  const { idleTimeoutMs } = config.routing;
  const end = await relayBytes(seen, res, { idleTimeoutMs, clock, signal });
  record(end, attempt, failureIn(end, call, clock.now()));
  if (end.kind === 'broken') walk.broken(turn);
  return STATE_AFTER[end.kind];
}

const STATE_AFTER = {
  complete: 'done',
  broken: 'broken',
  diverged: 'broken',
  cancelled: 'cancelled',
} as const satisfies Record<RelayEnd['kind'], string>;

/** Sent bytes are kept, which costs memory, only where another upstream might resume the answer. */
function mayResume(request: ChatRequest, { walk, context }: AnswerContext): boolean {
  const isAllowed = context.config.routing.resume !== 'off' && request.endpoint.isResumable;
  return isAllowed && request.choices === 1 && walk.hasFallback();
}

function relayStream(
  { call, seen, attempt, hidesUsage }: StreamCall,
  splice: Splice | null,
  { format, res, response, context, items, deps, request, translator, sent }: StreamContext,
): Promise<RelayEnd> {
  const { endpoint } = call.request;
  const meter = new UsageMeter(hidesUsage);
  const relayed = relay(seen, res, {
    idleTimeoutMs: context.config.routing.idleTimeoutMs,
    // As this upstream speaks: the rest of an answer comes as a chat completion, whatever it began as.
    format: endpoint.answer.stream ?? format,
    choices: request.choices,
    translator,
    secrets: call.secrets,
    clock: deps.clock,
    signal: context.signal,
    meter,
    observer: attempt.observer,
    onLast: (event) => keepItems(dataOf(event), request, endpoint, items),
    sent,
    splice,
    rescue: splice === null ? rescueFor(call, attempt, res) : asItIs,
  });
  response.endSigns();
  attempt.answering(seen.contentAt);
  return relayed.then((end) => {
    attempt.used(tokensOf(meter.spent(), call.request, end.kind === 'complete'));
    const failure = failureIn(end, call, deps.clock.now());
    record(end, attempt, failure);
    if (failure !== null) deps.lessons.exclude(attempt.call, failure, context.epoch);
    return end;
  });
}

/** Its headers are sent before it is known. */
const rescueFor = ({ rescue }: UpstreamCall, attempt: Attempt, res: ServerResponse) =>
  rescue?.inStream((calls) => {
    attempt.repairedCalls = calls;
    res.addTrailers(repairedHeader(calls));
  }) ?? asItIs;

const asItIs = (frames: Frames): Frames => frames;

/** Of an answer in the upstream's own words; a later request may go to an upstream that never saw them. */
function keepItems(
  json: string | null,
  request: ChatRequest,
  { itemsOf }: ApiEndpoint,
  items: ItemMemory | null,
): void {
  if (itemsOf === undefined || items === null || json === null) return;
  if (smallValueOf(request, 'store') !== false) items.keep(itemsOf(parseJson(json)));
}

/** What the end of an answer says of the upstream: that its quota is used up, that it is held back; null for nothing. */
function failureIn(end: RelayEnd, called: CallFacts, nowMs: number): Failure | null {
  if (end.kind !== 'broken') return null;
  const { code, detail } = end;
  if (code === 'upstream_unavailable') return classify({ kind: 'ended', detail }, called, nowMs);
  if (end.error === null) return null;
  const failure = classify({ kind: 'error_answer', error: end.error, headers: {} }, called, nowMs);
  return failure.reason === 'bad_response' ? null : failure;
}

/** What one upstream gave of the answer, and how that ended. */
interface Part {
  readonly source: Turn;
  readonly end: RelayEnd;
  readonly translator: StreamTranslator | null;
}

async function resumeUntilEnded(
  first: Promise<RelayEnd>,
  turn: Turn,
  stream: StreamContext,
): Promise<RequestEnd> {
  const { format, res, translator } = stream;
  let part: Part = { source: turn, end: await first, translator };
  while ('detail' in part.end) {
    const next = await nextPart(part, stream);
    if (next === 'cancelled') return next;
    if (next === 'not_resumed') break;
    part = next;
  }
  const { end } = part;
  const errorEvent = part.translator?.fail ?? format.errorEvent;
  if ('detail' in end) breakOff(res, errorEvent, end);
  return STATE_AFTER[end.kind];
}

async function nextPart(
  { source, translator }: Part,
  stream: StreamContext,
): Promise<Part | 'not_resumed' | 'cancelled'> {
  const { res, walk, context, deps } = stream;
  const isOver = translator !== null && translator.ended() !== 'no';
  const sent = isOver ? null : (stream.sent?.taken() ?? null);
  const next = await resumeAnswer({ source, walk, sent }, context, deps);
  if (typeof next === 'string') return next;
  // An SSE comment, which clients skip.
  const { upstream, provider } = next.call;
  res.write(`: carried on by ${sourceName(upstream, provider)}\n\n`);
  const ofRest = translator ?? translatorOfRest(next);
  const end = await relayRest(next, { ...stream, translator: ofRest });
  return { source: next.turn, end, translator: ofRest };
}

/** Of an answer that began in the caller's protocol; null if that is chat completions. */
function translatorOfRest({
  call: { request, model },
  transcript: { blocks },
}: ResumedAnswer): StreamTranslator | null {
  return blocks === null ? null : (request.translator?.(model).createStream(blocks) ?? null);
}

function relayRest(next: ResumedAnswer, stream: StreamContext): Promise<RelayEnd> | RelayEnd {
  const { seen, attempt } = next;
  if (seen.kind === 'stream') return relayStream({ ...next, seen }, next.splice, stream);
  if (seen.kind === 'bytes') seen.exchange.abort();
  const end = badEnd('diverged', 'an answer without events');
  record(end, attempt);
  return end;
}

/** Ends the response with one error event and no `[DONE]`, so that clients see that it is incomplete. */
function breakOff(
  res: ServerResponse,
  errorEvent: (error: HttpError) => string | Buffer,
  { code, detail, error }: BadEnd,
): void {
  const words = error === null ? '' : shownWords(error.message);
  const said = words === '' ? detail : `${detail}: ${words}`;
  const message = `The answer broke off: ${said}. What came before is incomplete.`;
  // Some clients act on the upstream's code, such as `context_length_exceeded` (vercel/ai#17230).
  const told = error?.code ?? '';
  const own = /^[a-z]/i.test(told) ? told : code;
  res.end(errorEvent({ status: 502, code: own, message, param: error?.param ?? null }));
}

/** Names a protocol by its path. */
export type DropLogger = (fields: DroppedFields, protocol: string) => void;

/** Callers can send any number of fields; further ones are not logged. */
const MAX_LOGGED = 100;

/** A client sends a field in every request, so the log names each once. */
export function logDroppedFields(log: Log): DropLogger {
  const logged = new Set<string>();
  return ({ named }, protocol) => {
    for (const path of named) {
      const field = path.replaceAll(/\[\d+\]/g, '[]');
      const entry = `${protocol} ${field}`;
      if (logged.has(entry) || logged.size >= MAX_LOGGED) continue;
      logged.add(entry);
      log('info', 'field_dropped', { field, protocol });
    }
  };
}
