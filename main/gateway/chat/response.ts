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

/**
 * A response that begins before its answer if an engine of one's own reads for long: apps and the
 * proxies in between give up after a minute or five without a byte. It learns whom the request waits for as monitoring
 * does, and decides nothing.
 */
export class ChatResponse implements RequestObserver {
  readonly #res: ServerResponse;
  readonly #plan: ResponsePlan;
  readonly #observer: RequestObserver;
  /** Null if the last call went to an upstream that does not take long to read. */
  #awaited: AttemptStart | null = null;
  #cancelTimer: (() => void) | null = null;
  #signs = 0;
  #hasBegun = false;

  constructor(res: ServerResponse, plan: ResponsePlan, observer: RequestObserver) {
    this.#res = res;
    this.#plan = plan;
    this.#observer = observer;
  }

  attemptStarted(start: AttemptStart): AttemptObserver {
    const { upstream } = start.target;
    this.#awaited = upstream === 'local' || upstream === 'ondemand' ? start : null;
    this.#wait();
    return this.#observer.attemptStarted(start);
  }

  answering(head: Parameters<RequestObserver['answering']>[0]): void {
    this.endSigns();
    this.#observer.answering(head);
  }

  ended(state: Parameters<RequestObserver['ended']>[0]): void {
    this.endSigns();
    this.#observer.ended(state);
  }

  /** The rest of an answer has come. */
  endSigns(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  /** Of a stream; behind an early one it is a comment. */
  head(headers: OutgoingHttpHeaders): void {
    if (this.#hasBegun) this.#res.write(answeredBy(headers));
    else this.#res.writeHead(200, { ...headers, ...headOf(EVENT_STREAM) });
  }

  /** A whole answer, or all events of a stream. */
  send(body: Buffer, headers: OutgoingHttpHeaders): void {
    if (!this.#hasBegun) sendBody(this.#res, 200, body, headers);
    else if (this.#plan.format === null) this.#end(body, headers);
    else this.#res.end(Buffer.concat([answeredBy(headers), this.#joined(body)]));
  }

  /** An error of the gateway's own. */
  fail(error: GatewayError, headers: OutgoingHttpHeaders): void {
    if (this.#hasBegun) this.#endWith(error, headers);
    else sendError(this.#res, error, headers);
  }

  /** An upstream's own error; of it an answer that has begun gets only what it says. */
  passOn(error: HttpError, body: Buffer, headers: OutgoingHttpHeaders): void {
    if (this.#hasBegun) this.#endWith(error, headers);
    else sendBody(this.#res, error.status, body, headers);
  }

  /** A stream's translator, which also makes the events follow the signs of life. */
  translator(inner: StreamTranslator | null): StreamTranslator | null {
    const stream = this.#plan.format;
    if (!this.#hasBegun || stream?.afterSigns === undefined) return inner;
    return {
      push: (frames) => this.#joined(inner === null ? frames.bytes : inner.push(frames)),
      end: () => this.#joined(inner?.end() ?? Buffer.alloc(0)),
      fail: (error) => this.#joined(inner?.fail(error) ?? Buffer.from(stream.errorEvent(error))),
      ended: () => inner?.ended() ?? 'complete',
    };
  }

  #wait(): void {
    const { keepAliveMs, clock } = this.#plan;
    if (keepAliveMs > 0) this.#cancelTimer ??= clock.after(keepAliveMs, () => this.#sign());
  }

  #sign(): void {
    const { id, model, format } = this.#plan;
    this.#cancelTimer = null;
    if (this.#res.destroyed || this.#res.writableEnded) return;
    this.#wait();
    // An answer that is being carried on has its head.
    if (!this.#res.headersSent) {
      if (this.#awaited === null) return;
      this.#begin(this.#awaited);
    }
    const about = { id, model: this.#awaited?.target.model ?? model ?? '' };
    this.#res.write(format?.sign(this.#signs, about) ?? ' ');
    this.#signs += 1;
  }

  #begin({ target: { upstream, provider }, before }: AttemptStart): void {
    const { base, format } = this.#plan;
    this.#hasBegun = true;
    const reason = fallbackReason(before());
    const own = { ...base, ...gatewayHeaders(upstream, reason, provider) };
    const type = format === null ? 'application/json' : EVENT_STREAM;
    // nginx asks in HTTP/1.0, which has none, unless it is told otherwise.
    const hasTrailers = format === null && this.#res.req.httpVersion !== '1.0';
    const trailer = hasTrailers ? { trailer: TRAILERS.join(', ') } : {};
    this.#res.writeHead(200, { ...own, ...headOf(type), ...trailer });
  }

  #end(body: Buffer | string, headers: OutgoingHttpHeaders): void {
    const told = TRAILERS.filter((name) => headers[name] !== undefined);
    this.#res.addTrailers(Object.fromEntries(told.map((name) => [name, headers[name]])));
    this.#res.end(body);
  }

  /** An error behind an early head, which says 200. */
  #endWith(error: HttpError, headers: OutgoingHttpHeaders): void {
    const { format } = this.#plan;
    if (format === null) this.#end(JSON.stringify(bodyFor(this.#res.req, error, headers)), headers);
    else this.#res.end(`${answeredBy(headers).toString()}${format.errorEvent(error)}`);
  }

  #joined(events: Buffer): Buffer {
    const { format, id } = this.#plan;
    return format?.afterSigns?.(events, id) ?? events;
  }
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
