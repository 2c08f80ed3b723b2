import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { anthropicErrorType } from '#shared/errors.ts';
import type { FailureReason } from '#shared/reasons.ts';
import { isObject, isTooDeep, memberOf, parseJson } from '../../platform/json.ts';
import { type HttpError, sendBody, STREAM_HEAD } from '../../platform/http/responses.ts';
import { errorShapeFor, type ErrorShape, sendError } from '../http/errors.ts';
import { callHeaders, gatewayHeaders, repairedHeader } from './answer-headers.ts';
import { EVENT_STREAM } from './early-answer.ts';
import type { CallAnswer } from '../routing/call-upstream.ts';
import type { RoutedRequest } from '../routing/candidates.ts';
import { fallbackReason } from '../routing/outcomes.ts';
import type { RouteResult } from '../routing/route.ts';
import type { Walk } from '../routing/walk.ts';
import type { JsonAnswer, BytesAnswer } from '../upstream/exchange.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import { readErrorBody, type UpstreamError } from '../protocols/upstream-error.ts';
import { toCaller } from '../../platform/http/passed-headers.ts';
import { bytesType, passedType } from '../upstream/headers.ts';
import { finalResponse, type PassedOn, TOO_LONG } from './final-error.ts';
import { relayBytes, type RelayEnd } from './relay.ts';
import type { ResumeDeps } from './resume/resume.ts';
import { type CallerContext, keepItems, record, relayToEnd } from './stream.ts';
import type { Log } from '../../platform/log.ts';
import type { DroppedFields } from '../protocols/translation/translation.ts';
interface AnswerContext extends CallerContext {
  /** Headers of every response to this request. */
  readonly base: OutgoingHttpHeaders;
  readonly deps: ResumeDeps & {
    readonly noteDropped: DropLogger;
    readonly machineName: (id: string) => string | null;
  };
}

/** Sends the result of routing; resolves when all of it is sent or the caller is gone. */
export function answerChat(routed: RouteResult, to: AnswerContext): Promise<void> {
  switch (routed.kind) {
    case 'cancelled':
      to.context.observer.ended('cancelled');
      return Promise.resolve();
    case 'unanswered':
      sendFinalResponse(routed, to);
      return Promise.resolve();
    case 'answered':
      return sendAnswer(routed, to);
  }
}

function sendFinalResponse(
  { outcomes }: Extract<RouteResult, { readonly kind: 'unanswered' }>,
  { res, base, context, early, deps }: AnswerContext,
): void {
  const final = finalResponse(context.call, outcomes, deps.machineName);
  const reason = fallbackReason(
    outcomes,
    final.kind === 'passed' ? final.outcome : 'gateway_error',
  );
  const { upstream, provider } =
    final.kind === 'passed' ? final.outcome : { upstream: null, provider: null };
  const headers = { ...base, ...gatewayHeaders(upstream, reason, provider) };
  const answering = (status: number) =>
    context.observer.answering({ status, upstream, fallbackReason: reason });
  switch (final.kind) {
    case 'error':
      answering(final.error.status);
      if (early.hasBegun()) early.fail(final.error, headers);
      else sendError(res, final.error, headers);
      break;
    case 'answer':
      answering(200);
      early.send(Buffer.from(JSON.stringify(final.body)), { ...headers, ...JSON_TYPE });
      break;
    case 'passed':
      answering(final.response.status);
      if (early.hasBegun()) early.fail(errorIn(final), headers);
      else sendPassed(final, res, headers, context.call.request.endpoint);
  }
  context.observer.ended(final.kind === 'answer' ? 'done' : 'failed');
}

function errorIn({ response: { status, body } }: PassedOn): HttpError {
  const { message, code, param } = readErrorBody(body);
  return { status, message: message || `HTTP ${status}`, code: code ?? 'upstream_error', param };
}

function sendPassed(
  passed: PassedOn,
  res: ServerResponse,
  own: OutgoingHttpHeaders,
  endpoint: ApiEndpoint,
): void {
  const { status, headers, body } = passed.response;
  const shaped = inShape(errorShapeFor(res.req), passed, endpoint);
  const type = shaped === null ? { 'content-type': passedType(headers) } : JSON_TYPE;
  const sent = shaped === null ? body : Buffer.from(JSON.stringify(shaped));
  sendBody(res, status, sent, { ...toCaller(headers), ...own, ...type });
}

/** An error in the shape in which the caller's clients look for its message; null for what has it as it came. */
function inShape(
  shape: ErrorShape,
  { response: { status, body }, outcome: { failure } }: PassedOn,
  { support }: ApiEndpoint,
): object | null {
  // Who asks for a chat completion is told byte for byte what its upstream says; others may not know who was asked.
  if (shape !== 'anthropic' && support !== 'translatable') return null;
  const parsed = parseJson(body.toString('utf8'));
  const said = readErrorBody(body);
  return shape === 'anthropic'
    ? asAnthropic(parsed, said, status)
    : asOpenAi(parsed, said, failure.reason);
}

function asAnthropic(parsed: unknown, { message }: UpstreamError, status: number): object | null {
  if (isObject(parsed) && parsed['type'] === 'error') return null;
  const error = { type: anthropicErrorType(status), message: message || `HTTP ${status}` };
  return { type: 'error', error, request_id: null };
}

/**
 * FastAPI's `detail`, Mistral's and Cohere's `message`, Google's arrays: OpenAI's clients would say "no body". Codex 0.171
 * shortens its conversation by one code alone; llama.cpp says 400 in its place.
 */
function asOpenAi(
  parsed: unknown,
  { message, type, code: own, param }: UpstreamError,
  reason: FailureReason,
): object | null {
  const told = memberOf(parsed, 'error') ?? null;
  const isForeign = told === null && (isObject(parsed) || Array.isArray(parsed));
  const code = reason === 'context_length' ? TOO_LONG.code : own;
  if (message === '' || (!isForeign && code === own)) return null;
  const known = isObject(told) && !isTooDeep(told) ? told : {};
  return { error: { message, type: type ?? 'upstream_error', param, ...known, code } };
}

function sendAnswer(
  { answer, walk, outcomes }: Extract<RouteResult, { readonly kind: 'answered' }>,
  to: AnswerContext,
): Promise<void> {
  const { base, context, early, items, deps } = to;
  const { call, seen } = answer;
  const { endpoint } = call.request;
  const reason = fallbackReason(outcomes, 'answer');
  const dropped = call.translator?.dropped;
  const headers = {
    ...toCaller(seen.headers),
    ...base,
    ...callHeaders(call, reason),
  };
  if (dropped !== undefined) deps.noteDropped(dropped, context.call.request.endpoint.upstreamPath);
  const head = { status: 200, upstream: call.upstream, fallbackReason: reason };
  switch (seen.kind) {
    case 'answer':
      context.observer.answering(head);
      sendWhole(seen, answer, headers, to);
      if (call.translator === null && endpoint.itemsOf !== undefined)
        keepItems(seen.body.toString('utf8'), call.request, endpoint, items);
      return Promise.resolve();
    case 'bytes':
      context.observer.answering(head);
      return endedWith(sendBytes(seen, answer, walk, headers, to), context);
    case 'stream': {
      early.head(headers);
      const relayed = relayToEnd({ ...answer, seen }, walk, to);
      context.observer.answering(head);
      return endedWith(relayed, context);
    }
  }
}

function sendWhole(
  { body, contentAt, repairedCalls }: JsonAnswer,
  { call, attempt }: CallAnswer,
  common: OutgoingHttpHeaders,
  { context, early }: AnswerContext,
): void {
  const headers = { ...common, ...repairedHeader(repairedCalls) };
  attempt.repairedCalls = repairedCalls;
  const type = call.request.stream ? { 'content-type': EVENT_STREAM } : JSON_TYPE;
  early.send(body, { ...headers, ...type });
  attempt.answering(contentAt);
  attempt.end({ kind: 'served' });
  context.observer.ended('done');
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** Sends the length where it is known: HTTP/1.0 callers could not tell otherwise that the answer was cut off. */
async function sendBytes(
  seen: BytesAnswer,
  { attempt, turn }: CallAnswer,
  walk: Walk,
  headers: OutgoingHttpHeaders,
  { res, context: { config, signal }, deps: { clock } }: AnswerContext,
): Promise<RelayEnd['kind']> {
  const { 'content-length': length, 'content-encoding': coding } = seen.headers;
  const own = { 'content-type': bytesType(seen.headers), ...STREAM_HEAD };
  const head: OutgoingHttpHeaders = { ...headers, ...own };
  // Decoded bytes have another length.
  if (typeof length === 'string' && coding === undefined) head['content-length'] = length;
  res.writeHead(200, head);
  attempt.answering(seen.contentAt);
  const { idleTimeoutMs } = config.routing;
  const end = await relayBytes(seen, res, { idleTimeoutMs, clock, signal });
  record(end, attempt);
  if (end.kind === 'broken') walk.broken(turn);
  return end.kind;
}

async function endedWith(
  relayed: Promise<RelayEnd['kind']>,
  { observer }: Pick<RoutedRequest, 'observer'>,
): Promise<void> {
  observer.ended(STATE_AFTER[await relayed]);
}

const STATE_AFTER = {
  complete: 'done',
  broken: 'broken',
  diverged: 'broken',
  cancelled: 'cancelled',
} as const satisfies Record<RelayEnd['kind'], string>;

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
