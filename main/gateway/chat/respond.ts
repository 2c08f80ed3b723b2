import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { UpstreamId } from '#shared/ids.ts';
import { NOSNIFF, sendBody } from '../../platform/http/responses.ts';
import { errorShapeFor } from '../http/errors.ts';
import { sendError } from '../http/responses.ts';
import type { Attempt } from '../routing/attempts.ts';
import { fallbackReason } from '../routing/fallback-reasons.ts';
import type { RequestContext, RouteResult } from '../routing/router.ts';
import type { AnswerSeen, BytesSeen } from '../upstream/attempt.ts';
import { bytesType, callerHeaders, passedType } from '../upstream/headers.ts';
import { finalResponse } from './final-error.ts';
import { inShape } from './passed-error.ts';
import type { RelayEnd } from './relay.ts';
import { relayBytes } from './relay-bytes.ts';
import type { ResumeDeps } from './resume/resume.ts';
import { record, relayToEnd, tokensOf } from './stream.ts';

export interface AnswerContext {
  /** Headers of every response to this request. */
  readonly base: OutgoingHttpHeaders;
  readonly context: RequestContext;
  readonly deps: ResumeDeps;
}

type AnsweredRoute = Extract<RouteResult, { readonly kind: 'answered' }>;

/** Sends the result of routing; resolves when all of it is sent or the caller is gone. */
export function answerChat(
  routed: RouteResult,
  res: ServerResponse,
  context: AnswerContext,
): Promise<void> {
  switch (routed.kind) {
    case 'cancelled':
      endRequest(context.context, 'cancelled');
      return Promise.resolve();
    case 'unanswered':
      sendFinalResponse(routed, res, context);
      return Promise.resolve();
    case 'answered':
      return sendAnswer(routed, res, context);
  }
}

function gatewayHeaders(
  upstream: UpstreamId | null,
  reason: string,
  provider: string | null,
): OutgoingHttpHeaders {
  return {
    'x-gateway-upstream': upstream ?? 'none',
    'x-gateway-fallback-reason': reason,
    ...(provider === null ? {} : { 'x-gateway-provider': provider }),
  };
}

/** The headers of a response for which no upstream was called. */
export const NOT_ROUTED: OutgoingHttpHeaders = gatewayHeaders(null, 'none', null);

function sendFinalResponse(
  { outcomes }: Extract<RouteResult, { readonly kind: 'unanswered' }>,
  res: ServerResponse,
  { base, context }: AnswerContext,
): void {
  const final = finalResponse(outcomes);
  const reason = fallbackReason(
    outcomes,
    final.kind === 'passed' ? final : { kind: 'gateway_error' },
  );
  const { upstream, provider } =
    final.kind === 'passed' ? final.outcome : { upstream: null, provider: null };
  const headers = { ...base, ...gatewayHeaders(upstream, reason, provider) };
  const status = final.kind === 'passed' ? final.response.status : final.error.status;
  context.observer.answering({ status, upstream, fallbackReason: reason });
  if (final.kind === 'error') sendError(res, final.error, headers);
  else {
    const { headers: upstreamHeaders, body } = final.response;
    const type = passedType(upstreamHeaders);
    const own = inShape(errorShapeFor(res.req), { status, body, type });
    sendBody(res, status, own.body, {
      ...callerHeaders(upstreamHeaders),
      ...headers,
      'content-type': own.type,
    });
  }
  endRequest(context, 'failed');
}

function sendAnswer(
  routed: AnsweredRoute,
  res: ServerResponse,
  { base, context, deps }: AnswerContext,
): Promise<void> {
  const { call, seen, outcomes } = routed;
  const reason = fallbackReason(outcomes, { kind: 'answer' });
  const headers = {
    ...callerHeaders(seen.headers),
    ...base,
    ...gatewayHeaders(call.upstream, reason, call.provider),
  };
  const head = { status: 200, upstream: call.upstream, fallbackReason: reason };
  if (seen.kind === 'answer') {
    context.observer.answering(head);
    sendWhole(seen, routed.attempt, res, { headers, context });
    return Promise.resolve();
  }
  if (seen.kind === 'bytes') {
    context.observer.answering(head);
    return endedWith(sendBytes(seen, routed, res, { headers, context, deps }), context);
  }
  const format = call.endpoint.answer.stream;
  if (format === null) throw new Error('a stream of an endpoint without streams');
  const own = { 'content-type': EVENT_STREAM, 'cache-control': 'no-store', ...NOSNIFF };
  res.writeHead(200, { ...headers, ...own });
  const relayed = relayToEnd({ ...routed, seen }, format, res, { context, deps });
  context.observer.answering(head);
  return endedWith(relayed, context);
}

function sendWhole(
  { body, contentAt }: AnswerSeen,
  attempt: Attempt,
  res: ServerResponse,
  { headers, context }: { readonly headers: OutgoingHttpHeaders; readonly context: RequestContext },
): void {
  const { stream, includeUsage, endpoint } = context.call.request;
  const asEvents = endpoint.answer.stream?.asEvents ?? null;
  if (stream && asEvents !== null) {
    const events = Buffer.from(asEvents(body, includeUsage));
    sendBody(res, 200, events, { ...headers, 'content-type': EVENT_STREAM });
  } else sendBody(res, 200, body, { ...headers, 'content-type': 'application/json' });
  attempt.answering(contentAt);
  // The size of a recording says nothing of its tokens.
  if (endpoint.body === 'json') attempt.used(tokensOf(body, context.call.request, attempt));
  attempt.succeeded();
  endRequest(context, 'done');
}

interface BytesContext extends Omit<AnswerContext, 'base'> {
  readonly headers: OutgoingHttpHeaders;
}

/** The length goes along where it is known: callers without chunks could not see a cut otherwise. */
async function sendBytes(
  seen: BytesSeen,
  { attempt, dispatch, plan }: Pick<AnsweredRoute, 'attempt' | 'dispatch' | 'plan'>,
  res: ServerResponse,
  { headers, context: { config, signal }, deps: { clock } }: BytesContext,
): Promise<RelayEnd['kind']> {
  const { 'content-length': length, 'content-encoding': coding } = seen.headers;
  const own = { 'content-type': bytesType(seen.headers), 'cache-control': 'no-store', ...NOSNIFF };
  const head: OutgoingHttpHeaders = { ...headers, ...own };
  // Decoded bytes have another length.
  if (typeof length === 'string' && coding === undefined) head['content-length'] = length;
  res.writeHead(200, head);
  attempt.answering(seen.contentAt);
  const { idleTimeoutMs } = config.routing;
  const end = await relayBytes(seen, res, { idleTimeoutMs, clock, signal });
  record(end, attempt);
  if (end.kind === 'broken') plan.broken(dispatch);
  plan.close(null);
  return end.kind;
}

async function endedWith(
  relayed: Promise<RelayEnd['kind']>,
  { attempts, observer }: Pick<RequestContext, 'attempts' | 'observer'>,
): Promise<void> {
  endRequest({ attempts, observer }, STATE_AFTER[await relayed]);
}

function endRequest(
  { attempts, observer }: Pick<RequestContext, 'attempts' | 'observer'>,
  state: Parameters<RequestContext['observer']['ended']>[0],
): void {
  attempts.close();
  observer.ended(state);
}

const EVENT_STREAM = 'text/event-stream; charset=utf-8';

const STATE_AFTER = {
  complete: 'done',
  broken: 'broken',
  diverged: 'broken',
  cancelled: 'cancelled',
} as const satisfies Record<RelayEnd['kind'], string>;
