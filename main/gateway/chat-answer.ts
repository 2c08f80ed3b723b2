import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { UpstreamId } from '#shared/ids.ts';
import type { AnswerSeen } from './attempt.ts';
import { answerAsChunk } from './response/assembly.ts';
import { callerHeaders } from './request/headers.ts';
import { lastWord } from './outcome/last-word.ts';
import type { RelayEnd } from './relay.ts';
import type { ResumeDeps } from './resume/carry-on.ts';
import { relayToEnd } from './resume/relay-to-end.ts';
import { sendBody, sendError } from './surface/respond.ts';
import type { Journey, Routed } from './router.ts';
import { fallbackReason } from './outcome/trail.ts';
import type { AttemptLog } from './watch/attempt-log.ts';
import type { RequestLog } from './watch/open-request.ts';

/** What is known of the request whose answer goes out. */
export interface AnswerContext {
  /** Headers that every answer of this request bears. */
  readonly base: OutgoingHttpHeaders;
  readonly journey: Journey;
  readonly deps: ResumeDeps;
}

type AnsweredRoute = Extract<Routed, { readonly kind: 'answered' }>;

/** Gives the caller what routing brought; resolves when all of it is out or the caller is gone. */
export function answerChat(
  routed: Routed,
  res: ServerResponse,
  context: AnswerContext,
): Promise<void> {
  switch (routed.kind) {
    case 'cancelled':
      context.journey.log.ended('cancelled');
      return Promise.resolve();
    case 'unanswered':
      sendLastWord(routed, res, context);
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

/** The headers of an answer for which no upstream was asked. */
export const NOT_ROUTED: OutgoingHttpHeaders = gatewayHeaders(null, 'none', null);

function sendLastWord(
  { trail }: Extract<Routed, { readonly kind: 'unanswered' }>,
  res: ServerResponse,
  { base, journey: { log } }: AnswerContext,
): void {
  const word = lastWord(trail);
  const reason = fallbackReason(trail, word.kind === 'passed' ? word : { kind: 'nobody' });
  const { upstream, provider } =
    word.kind === 'passed' ? word.left : { upstream: null, provider: null };
  const headers = { ...base, ...gatewayHeaders(upstream, reason, provider) };
  const status = word.kind === 'passed' ? word.response.status : word.error.status;
  log.answering({ status, upstream, fallbackReason: reason });
  if (word.kind === 'error') sendError(res, word.error, headers);
  else {
    const { headers: theirs, body } = word.response;
    const type = String(theirs['content-type'] ?? 'application/json');
    sendBody(res, status, body, { ...callerHeaders(theirs), ...headers, 'content-type': type });
  }
  log.ended('failed');
}

function sendAnswer(
  routed: AnsweredRoute,
  res: ServerResponse,
  { base, journey, deps }: AnswerContext,
): Promise<void> {
  const { call, seen, trail } = routed;
  const { log } = journey;
  const reason = fallbackReason(trail, { kind: 'answer' });
  const headers = {
    ...callerHeaders(seen.headers),
    ...base,
    ...gatewayHeaders(call.upstream, reason, call.provider),
  };
  const head = { status: 200, upstream: call.upstream, fallbackReason: reason };
  if (seen.kind === 'answer') {
    log.answering(head);
    sendWhole(seen, routed.log, res, { headers, journey });
    return Promise.resolve();
  }
  res.writeHead(200, { ...headers, 'content-type': EVENT_STREAM, 'cache-control': 'no-store' });
  const relayed = relayToEnd({ ...routed, seen }, res, journey, deps);
  log.answering(head);
  return loggedAtEnd(relayed, log);
}

function sendWhole(
  { body, contentAt }: AnswerSeen,
  attemptLog: AttemptLog,
  res: ServerResponse,
  {
    headers,
    journey: { call, log },
  }: { readonly headers: OutgoingHttpHeaders; readonly journey: Journey },
): void {
  const { stream, includeUsage } = call.request;
  if (stream) {
    const events = Buffer.from(answerAsChunk(body, includeUsage));
    sendBody(res, 200, events, { ...headers, 'content-type': EVENT_STREAM });
  } else sendBody(res, 200, body, { ...headers, 'content-type': 'application/json' });
  attemptLog.answering(contentAt);
  attemptLog.succeeded();
  log.ended('done');
}

async function loggedAtEnd(relayed: Promise<RelayEnd['kind']>, log: RequestLog): Promise<void> {
  log.ended(STATE_AFTER[await relayed]);
}

const EVENT_STREAM = 'text/event-stream; charset=utf-8';

const STATE_AFTER = {
  complete: 'done',
  broken: 'broken',
  diverged: 'broken',
  cancelled: 'cancelled',
} as const satisfies Record<RelayEnd['kind'], string>;
