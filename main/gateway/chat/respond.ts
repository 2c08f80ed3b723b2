import { toCaller } from '../../platform/http/passed-headers.ts';
import type { Log } from '../../platform/log.ts';
import type { DroppedFields } from '../protocols/translation/translation.ts';
import type { RouteResult } from '../routing/route.ts';
import { callHeaders, repairedHeader } from './answer-headers.ts';
import { EVENT_STREAM } from './early-answer.ts';
import { type FinalDeps, sendFinalResponse } from './final-error.ts';
import type { ResumeDeps } from './resume/resume.ts';
import { type CallerContext, keepItems, relayBytesToEnd, relayToEnd } from './stream.ts';

interface AnswerContext extends CallerContext {
  readonly deps: ResumeDeps & FinalDeps & { readonly noteDropped: DropLogger };
}

/** Sends the result of routing; resolves when all of it is sent or the caller is gone. */
export function answerChat(routed: RouteResult, to: AnswerContext): Promise<void> {
  switch (routed.kind) {
    case 'answered':
      return sendAnswer(routed, to);
    case 'unanswered':
      sendFinalResponse(routed.outcomes, to, to.deps);
      return Promise.resolve();
    case 'cancelled':
      to.context.observer.ended('cancelled');
      return Promise.resolve();
  }
}

function sendAnswer(
  { answer, walk, reason }: Extract<RouteResult, { readonly kind: 'answered' }>,
  to: AnswerContext,
): Promise<void> {
  const { base, context, early, items, deps } = to;
  const { observer } = context;
  const { call, seen, attempt } = answer;
  const headers = { ...toCaller(seen.headers), ...base, ...callHeaders(call, reason) };
  const dropped = call.translator?.dropped;
  if (dropped !== undefined) deps.noteDropped(dropped, context.call.request.endpoint.upstreamPath);
  const head = { status: 200, upstream: call.upstream, fallbackReason: reason };
  switch (seen.kind) {
    case 'stream': {
      early.head(headers);
      const relayed = relayToEnd({ ...answer, seen }, walk, to);
      observer.answering(head);
      return relayed;
    }
    case 'bytes':
      observer.answering(head);
      return relayBytesToEnd(seen, answer, walk, headers, to);
    case 'answer': {
      observer.answering(head);
      const { endpoint } = call.request;
      const { body, contentAt, repairedCalls } = seen;
      const type = call.request.stream ? EVENT_STREAM : 'application/json';
      attempt.repairedCalls = repairedCalls;
      early.send(body, { ...headers, ...repairedHeader(repairedCalls), 'content-type': type });
      attempt.answering(contentAt);
      attempt.end({ kind: 'served' });
      observer.ended('done');
      if (call.translator === null && endpoint.itemsOf !== undefined)
        keepItems(body.toString('utf8'), call.request, endpoint, items);
      return Promise.resolve();
    }
  }
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
