import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Clock } from '../../platform/clock.ts';
import { type HttpError, sendBody, STREAM_HEAD } from '../../platform/http/responses.ts';
import { bodyFor } from '../http/errors.ts';
import type { StreamTranslator } from '../protocols/translation/translation.ts';
import type { ChatRequest } from '../protocols/chat-request.ts';
import type { AttemptObserver, AttemptStart, RequestObserver } from '../routing/observer.ts';
import { sourceName } from '../routing/outcomes.ts';
import type { UpstreamCall } from '../upstream/call.ts';
import { answeredBy, gatewayHeaders, TRAILERS } from './answer-headers.ts';

interface EarlyAnswerPlan {
  readonly id: string;
  readonly request: ChatRequest;
  /** Headers of every response to this request. */
  readonly base: OutgoingHttpHeaders;
  readonly keepAliveMs: number;
  readonly clock: Clock;
}

export type EarlyAnswer = ReturnType<typeof createEarlyAnswer>;

/**
 * The response to a request, which begins before its answer if an engine of one's own reads for long: apps and the
 * proxies in between give up after a minute or five without a byte. It learns whom the request waits for as monitoring
 * does, and decides nothing.
 */
export function createEarlyAnswer(
  res: ServerResponse,
  { id, request, base, keepAliveMs, clock }: EarlyAnswerPlan,
  observer: RequestObserver,
) {
  const { answer } = request.endpoint;
  /** Null if the answer is one JSON value. */
  const stream = request.stream ? answer.stream : null;
  /** Null if the last call went to an upstream that does not take long to read. */
  let awaited: UpstreamCall | null = null;
  /** Calls that came to nothing, as in `X-Gateway-Fallback-Reason`. */
  const left: string[] = [];
  let cancelTimer: (() => void) | null = null;
  let signs = 0;
  let hasBegun = false;

  function wait(): void {
    if (keepAliveMs === 0 || answer.takesBytes) return;
    cancelTimer ??= clock.after(keepAliveMs, sign);
  }

  function rest(): void {
    cancelTimer?.();
    cancelTimer = null;
  }

  function sign(): void {
    cancelTimer = null;
    if (res.destroyed || res.writableEnded) return;
    wait();
    // An answer that is being carried on has its head.
    if (!res.headersSent) {
      if (awaited === null) return;
      begin(awaited);
    }
    const about = { id, model: awaited?.model ?? request.model ?? '' };
    res.write(stream?.sign(signs, about) ?? ' ');
    signs += 1;
  }

  function begin({ upstream, provider }: UpstreamCall): void {
    hasBegun = true;
    const own = { ...base, ...gatewayHeaders(upstream, left.join('; ') || 'none', provider) };
    const type = stream === null ? 'application/json' : EVENT_STREAM;
    // nginx asks in HTTP/1.0, which has none, unless it is told otherwise.
    const hasTrailers = stream === null && res.req.httpVersion !== '1.0';
    const trailer = hasTrailers ? { trailer: TRAILERS.join(', ') } : {};
    res.writeHead(200, { ...own, ...headOf(type), ...trailer });
  }

  function end(body: Buffer | string, headers: OutgoingHttpHeaders): void {
    const told = TRAILERS.filter((name) => headers[name] !== undefined);
    res.addTrailers(Object.fromEntries(told.map((name) => [name, headers[name]])));
    res.end(body);
  }

  const joined = (events: Buffer): Buffer => stream?.afterSigns?.(events, id) ?? events;

  /** Of the calls, and of what becomes of the answer. */
  const own: RequestObserver = {
    attemptStarted(start: AttemptStart): AttemptObserver {
      const { target } = start;
      const { upstream } = target;
      awaited = upstream === 'local' || upstream === 'ondemand' ? target : null;
      wait();
      const observed = observer.attemptStarted(start);
      return {
        polled: () => observed.polled(),
        relayed: (events, cameAt) => observed.relayed(events, cameAt),
        answering(contentAt) {
          rest();
          observed.answering(contentAt);
        },
        ended(how) {
          if (how.reason !== null) left.push(`${sourceName(target)}=${how.reason}`);
          observed.ended(how);
        },
      };
    },
    answering(head) {
      rest();
      observer.answering(head);
    },
    ended(state) {
      rest();
      observer.ended(state);
    },
  };

  return {
    observer: own,
    hasBegun: () => hasBegun,
    /** Of a stream; behind an early one it is a comment. */
    head(headers: OutgoingHttpHeaders) {
      if (hasBegun) res.write(answeredBy(headers));
      else res.writeHead(200, { ...headers, ...headOf(EVENT_STREAM) });
    },
    /** A whole answer, or all events of a stream. */
    send(body: Buffer, headers: OutgoingHttpHeaders) {
      if (!hasBegun) sendBody(res, 200, body, headers);
      else if (stream === null) end(body, headers);
      else res.end(Buffer.concat([answeredBy(headers), joined(body)]));
    },
    /** An error behind an early head, which says 200. */
    fail(error: HttpError, headers: OutgoingHttpHeaders) {
      if (stream === null) end(JSON.stringify(bodyFor(res.req, error, headers)), headers);
      else res.end(`${answeredBy(headers).toString()}${stream.errorEvent(error)}`);
    },
    /** A stream's translator, which also makes the events follow the signs of life. */
    translator(inner: StreamTranslator | null): StreamTranslator | null {
      if (!hasBegun || stream?.afterSigns === undefined) return inner;
      return {
        push: (frames) => joined(inner === null ? frames.bytes : inner.push(frames)),
        end: () => joined(inner?.end() ?? Buffer.alloc(0)),
        fail: (error) => joined(inner?.fail(error) ?? Buffer.from(stream.errorEvent(error))),
        ended: () => inner?.ended() ?? 'complete',
      };
    },
  };
}

export const EVENT_STREAM = 'text/event-stream; charset=utf-8';

const headOf = (type: string) => ({ 'content-type': type, ...STREAM_HEAD });
