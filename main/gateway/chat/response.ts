import { randomBytes } from 'node:crypto';
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { ANSWER_HEADERS } from '#shared/answer-headers.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { Clock } from '../../platform/clock.ts';
import { type HttpError, sendBody, STREAM_HEAD } from '../../platform/http/responses.ts';
import { bodyFor, type GatewayError, sendError } from '../http/errors.ts';
import type { DroppedFields, StreamTranslator } from '../protocols/translation/translation.ts';
import type { StreamFormat } from '../protocols/endpoint.ts';
import type { AttemptObserver, AttemptStart, RequestObserver } from '../routing/observer.ts';
import { fallbackReason, sourceName } from '../routing/outcomes.ts';
import type { UpstreamCall } from '../upstream/call.ts';

/* The response to a chat request: its headers, and when it begins and ends. */

interface ResponsePlan {
  readonly id: string;
  /** Null if the answer is one JSON value. */
  readonly format: StreamFormat | null;
  readonly model: string | null;
  /** Headers of every response to this request. */
  readonly base: OutgoingHttpHeaders;
  /** The longest time without a byte; 0: it begins with its answer, however late. */
  readonly keepAliveMs: number;
  readonly clock: Clock;
}

export type ChatResponse = ReturnType<typeof createChatResponse>;

/**
 * A response that begins before its answer if an engine of one's own reads for long: apps and the
 * proxies in between give up after a minute or five without a byte. It learns whom the request waits for as monitoring
 * does, and decides nothing.
 */
export function createChatResponse(
  res: ServerResponse,
  { id, format: stream, model, base, keepAliveMs, clock }: ResponsePlan,
  observer: RequestObserver,
) {
  /** Null if the last call went to an upstream that does not take long to read. */
  let awaited: AttemptStart | null = null;
  let cancelTimer: (() => void) | null = null;
  let signs = 0;
  let hasBegun = false;

  function wait(): void {
    if (keepAliveMs > 0) cancelTimer ??= clock.after(keepAliveMs, sign);
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
    const about = { id, model: awaited?.target.model ?? model ?? '' };
    res.write(stream?.sign(signs, about) ?? ' ');
    signs += 1;
  }

  function begin({ target: { upstream, provider }, before }: AttemptStart): void {
    hasBegun = true;
    const reason = fallbackReason(before());
    const own = { ...base, ...gatewayHeaders(upstream, reason, provider) };
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

  /** An error behind an early head, which says 200. */
  function endWith(error: HttpError, headers: OutgoingHttpHeaders): void {
    if (stream === null) end(JSON.stringify(bodyFor(res.req, error, headers)), headers);
    else res.end(`${answeredBy(headers).toString()}${stream.errorEvent(error)}`);
  }

  const joined = (events: Buffer): Buffer => stream?.afterSigns?.(events, id) ?? events;

  /** Of the calls, and of what becomes of the answer. */
  const own: RequestObserver = {
    attemptStarted(start: AttemptStart): AttemptObserver {
      const { upstream } = start.target;
      awaited = upstream === 'local' || upstream === 'ondemand' ? start : null;
      wait();
      const observed = observer.attemptStarted(start);
      return {
        polled: () => observed.polled(),
        relayed: (events, cameAt) => observed.relayed(events, cameAt),
        answering(contentAt) {
          rest();
          observed.answering(contentAt);
        },
        ended: (how) => observed.ended(how),
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
    /** An error of the gateway's own. */
    fail(error: GatewayError, headers: OutgoingHttpHeaders) {
      if (hasBegun) endWith(error, headers);
      else sendError(res, error, headers);
    },
    /** An upstream's own error; of it an answer that has begun gets only what it says. */
    passOn(error: HttpError, body: Buffer, headers: OutgoingHttpHeaders) {
      if (hasBegun) endWith(error, headers);
      else sendBody(res, error.status, body, headers);
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

/** Makes ids unique across runs; generated once, because random bytes take 7 µs. */
const run = randomBytes(6).toString('hex');
let count = 0;

/** A new id such as `req_1f0c9a2b3d4e00002s`, for callers to quote in reports of problems. */
export function newRequestId(): string {
  count += 1;
  return `req_${run}${count.toString(36).padStart(6, '0')}`;
}

export const EVENT_STREAM = 'text/event-stream; charset=utf-8';

const headOf = (type: string) => ({ 'content-type': type, ...STREAM_HEAD });

const { upstream: UPSTREAM, fallbackReason: REASON, provider: PROVIDER } = ANSWER_HEADERS;

/** Those that an answer which began early repeats at its end. */
const TRAILERS = [UPSTREAM, REASON, PROVIDER];

/** On every answer to a chat request: who gave it, and why no earlier upstream did. */
export function gatewayHeaders(
  upstream: UpstreamId | null,
  reason: string,
  provider: string | null,
): OutgoingHttpHeaders {
  return {
    [UPSTREAM]: upstream ?? 'none',
    [REASON]: reason,
    ...(provider === null ? {} : { [PROVIDER]: provider }),
  };
}

/** For which no upstream was called. */
export const NOT_ROUTED: OutgoingHttpHeaders = gatewayHeaders(null, 'none', null);

/** Of the answer to a call. */
export function callHeaders(
  { upstream, provider, model, translator }: UpstreamCall,
  reason: string,
): OutgoingHttpHeaders {
  return {
    ...gatewayHeaders(upstream, reason, provider),
    ...(SHOWABLE.test(model) && { [ANSWER_HEADERS.model]: model }),
    ...(translator !== null && droppedHeader(translator.dropped)),
  };
}

/** Callers may choose any name, and a header takes only this. */
const SHOWABLE = /^[\x21-\x7e]{1,200}$/;

function droppedHeader({ named, others }: DroppedFields): OutgoingHttpHeaders {
  const all = others === 0 ? named : [...named, `+${others}`];
  return all.length === 0 ? {} : { [ANSWER_HEADERS.dropped]: all.join(', ') };
}

/** How many tool calls were made of text. */
export const repairedHeader = (calls: number): Record<string, string> =>
  calls === 0 ? {} : { [ANSWER_HEADERS.repaired]: `tool_calls=${calls}` };

/** An SSE comment, which clients skip: an early head could name only who was waited for. */
function answeredBy(headers: OutgoingHttpHeaders): Buffer {
  const { [UPSTREAM]: upstream, [PROVIDER]: provider, [REASON]: reason } = headers;
  const by = sourceName(String(upstream), provider === undefined ? null : String(provider));
  const why = reason === 'none' ? '' : ` (${String(reason)})`;
  return Buffer.from(`: answered by ${by}${why}\n\n`);
}
