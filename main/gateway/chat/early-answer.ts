import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { UpstreamId } from '#shared/ids.ts';
import type { Clock } from '../../platform/clock.ts';
import { type HttpError, sendBody, STREAM_HEAD } from '../../platform/http/responses.ts';
import { errorBody, errorShapeFor } from '../http/errors.ts';
import type { StreamTranslator } from '../protocols/translation/translation.ts';
import type { ChatRequest } from '../protocols/chat-request.ts';
import type { AttemptObserver, AttemptStart, RequestObserver } from '../routing/observer.ts';
import { sourceName } from '../routing/outcomes.ts';
import type { UpstreamCall } from '../upstream/call.ts';

export interface EarlyAnswerPlan {
  readonly id: string;
  readonly request: ChatRequest;
  /** Headers of every response to this request. */
  readonly base: OutgoingHttpHeaders;
  readonly keepAliveMs: number;
  readonly clock: Clock;
}

/**
 * The response to a request, which begins before its answer if an engine of one's own reads for long: apps and the
 * proxies in between give up after a minute or five without a byte. It learns whom the request waits for as monitoring
 * does, and decides nothing.
 */
export class EarlyAnswer implements RequestObserver {
  readonly #res: ServerResponse;
  readonly #plan: EarlyAnswerPlan;
  readonly #observer: RequestObserver;
  /** Null if the last call went to an upstream that does not take long to read. */
  #awaited: UpstreamCall | null = null;
  /** Calls that came to nothing, as in `X-Gateway-Fallback-Reason`. */
  readonly #left: string[] = [];
  #cancelTimer: (() => void) | null = null;
  #signs = 0;
  hasBegun = false;

  constructor(res: ServerResponse, plan: EarlyAnswerPlan, observer: RequestObserver) {
    this.#res = res;
    this.#plan = plan;
    this.#observer = observer;
  }

  /** Of a stream; behind an early one it is a comment. */
  head(headers: OutgoingHttpHeaders): void {
    if (this.hasBegun) this.#res.write(answeredBy(headers));
    else this.#res.writeHead(200, { ...headers, ...headOf(EVENT_STREAM) });
  }

  /** A whole answer, or all events of a stream. */
  send(body: Buffer, headers: OutgoingHttpHeaders): void {
    if (!this.hasBegun) sendBody(this.#res, 200, body, headers);
    else if (this.#stream === null) this.#end(body, headers);
    else this.#res.end(Buffer.concat([answeredBy(headers), this.#joined(body)]));
  }

  /** An error behind an early head, which says 200. */
  fail(error: HttpError, headers: OutgoingHttpHeaders): void {
    const shape = errorShapeFor(this.#res.req);
    if (this.#stream === null)
      this.#end(JSON.stringify(errorBody(error, shape, this.#plan.id)), headers);
    else this.#res.end(`${answeredBy(headers).toString()}${this.#stream.errorEvent(error)}`);
  }

  /** A stream's translator, which also makes the events follow the signs of life. */
  translator(inner: StreamTranslator | null): StreamTranslator | null {
    const stream = this.#stream;
    if (!this.hasBegun || stream?.afterSigns === undefined) return inner;
    return {
      push: (frames) => this.#joined(inner === null ? frames.bytes : inner.push(frames)),
      end: () => this.#joined(inner?.end() ?? Buffer.alloc(0)),
      fail: (error) => this.#joined(inner?.fail(error) ?? Buffer.from(stream.errorEvent(error))),
      ended: () => inner?.ended() ?? 'complete',
    };
  }

  attemptStarted(start: AttemptStart): AttemptObserver {
    const { target } = start;
    const { upstream } = target;
    this.#awaited = upstream === 'local' || upstream === 'ondemand' ? target : null;
    this.#await();
    const observed = this.#observer.attemptStarted(start);
    return {
      polled: () => observed.polled(),
      relayed: (events, cameAt) => observed.relayed(events, cameAt),
      answering: (contentAt) => {
        this.#rest();
        observed.answering(contentAt);
      },
      ended: (end) => {
        if (end.reason !== null) this.#left.push(`${sourceName(target)}=${end.reason}`);
        observed.ended(end);
      },
    };
  }

  answering(head: Parameters<RequestObserver['answering']>[0]): void {
    this.#rest();
    this.#observer.answering(head);
  }

  ended(state: Parameters<RequestObserver['ended']>[0]): void {
    this.#rest();
    this.#observer.ended(state);
  }

  /** Null if the answer is one JSON value. */
  get #stream() {
    const { stream, endpoint } = this.#plan.request;
    return stream ? endpoint.answer.stream : null;
  }

  #await(): void {
    const { keepAliveMs, clock, request } = this.#plan;
    if (keepAliveMs === 0 || request.endpoint.answer.takesBytes === true) return;
    this.#cancelTimer ??= clock.after(keepAliveMs, this.#sign);
  }

  #rest(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  readonly #sign = (): void => {
    this.#cancelTimer = null;
    if (this.#res.destroyed || this.#res.writableEnded) return;
    this.#await();
    // An answer that is being carried on has its head.
    if (!this.#res.headersSent) {
      if (this.#awaited === null) return;
      this.#begin(this.#awaited);
    }
    const { id, request } = this.#plan;
    const answer = { id, model: this.#awaited?.model ?? request.model ?? '' };
    this.#res.write(this.#stream?.sign(this.#signs, answer) ?? ' ');
    this.#signs += 1;
  };

  #begin({ upstream, provider }: UpstreamCall): void {
    this.hasBegun = true;
    const reason = this.#left.join('; ') || 'none';
    const own = { ...this.#plan.base, ...gatewayHeaders(upstream, reason, provider) };
    const type = this.#stream === null ? 'application/json' : EVENT_STREAM;
    // nginx asks in HTTP/1.0, which has none, unless it is told otherwise.
    const hasTrailers = this.#stream === null && this.#res.req.httpVersion !== '1.0';
    const trailer = hasTrailers ? { trailer: TRAILERS.join(', ') } : {};
    this.#res.writeHead(200, { ...own, ...headOf(type), ...trailer });
  }

  #end(body: Buffer | string, headers: OutgoingHttpHeaders): void {
    const told = TRAILERS.filter((name) => headers[name] !== undefined);
    this.#res.addTrailers(Object.fromEntries(told.map((name) => [name, headers[name]])));
    this.#res.end(body);
  }

  #joined(events: Buffer): Buffer {
    return this.#stream?.afterSigns?.(events, this.#plan.id) ?? events;
  }
}

export const EVENT_STREAM = 'text/event-stream; charset=utf-8';

const headOf = (type: string) => ({ 'content-type': type, ...STREAM_HEAD });

const [UPSTREAM, REASON, PROVIDER] = [
  'x-gateway-upstream',
  'x-gateway-fallback-reason',
  'x-gateway-provider',
] as const;
const TRAILERS = [UPSTREAM, REASON, PROVIDER];

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

/** An SSE comment, which clients skip: the head could name only who was waited for. */
function answeredBy(headers: OutgoingHttpHeaders): Buffer {
  const { [UPSTREAM]: upstream, [PROVIDER]: provider, [REASON]: reason } = headers;
  const by = {
    upstream: String(upstream),
    provider: provider === undefined ? null : String(provider),
  };
  return Buffer.from(`: answered by ${sourceName(by)} (${String(reason)})\n\n`);
}
