import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Clock } from '../../platform/clock.ts';
import { fromCaller, passedHeaders } from '../../platform/http/passed-headers.ts';
import { NOSNIFF } from '../../platform/http/responses.ts';
import type {
  Exchange,
  HttpClient,
  HttpRequest,
  ResponseHeaders,
  ResponseListener,
  TransportFailure,
} from '../../platform/http/types.ts';
import { memberOf, parseJson } from '../../platform/json.ts';
import { type AgentError, sendError } from './errors.ts';
import { createNoMeter, type Meter } from './token-meter.ts';

type ForwardEnd =
  | { readonly kind: 'served'; readonly status: number; readonly meter: Meter }
  /** The engine sent no complete response; the caller got an error or a truncated response. */
  | { readonly kind: 'broken' }
  /** The caller closed the connection, `signal` ended the call, or it was never made. */
  | { readonly kind: 'cancelled' };

interface ForwardPlan {
  readonly request: Omit<HttpRequest, 'fresh'>;
  /** Longest time without data from the engine or progress by a slow caller. */
  readonly silenceMs: number;
  /** Called once the response head is known. */
  readonly meterFor: (status: number, headers: ResponseHeaders) => Meter;
  /** Aborts when the owner pauses the machine or the agent stops. */
  readonly signal: AbortSignal;
  /** The error for the caller when `signal` aborts before the response has begun. */
  readonly abortError: () => AgentError;
}

export interface ForwardEdges {
  readonly http: HttpClient;
  readonly clock: Clock;
}

const EXHAUSTED: AgentError = {
  status: 503,
  code: 'busy',
  message: 'This machine is busy: its agent has no file descriptor left for a connection.',
  retryAfterMs: 1000,
};

/**
 * Forwards a request to the engine and streams the response back, with backpressure. Aborts the engine's call as soon
 * as the caller closes the connection.
 */
export function forward(
  plan: ForwardPlan,
  res: ServerResponse,
  edges: ForwardEdges,
): Promise<ForwardEnd> {
  return new Promise((resolve) => {
    new Forward(plan, res, edges, resolve).send(false);
  });
}

class Forward implements ResponseListener {
  readonly #plan: ForwardPlan;
  readonly #res: ServerResponse;
  readonly #edges: ForwardEdges;
  readonly #resolve: (end: ForwardEnd) => void;
  #exchange: Exchange | null = null;
  #meter: Meter = createNoMeter();
  #status = 0;
  #isFresh = false;
  #isOver = false;
  #lastProgressTicks: number;
  #cancelTimer: () => void;

  constructor(
    plan: ForwardPlan,
    res: ServerResponse,
    edges: ForwardEdges,
    resolve: (end: ForwardEnd) => void,
  ) {
    this.#plan = plan;
    this.#res = res;
    this.#edges = edges;
    this.#resolve = resolve;
    this.#lastProgressTicks = edges.clock.ticks();
    this.#cancelTimer = edges.clock.after(plan.silenceMs, this.#onTime);
    res.on('close', this.#onCallerClosed);
    res.on('drain', this.#onDrain);
    plan.signal.addEventListener('abort', this.#onAbort);
  }

  send(fresh: boolean): void {
    if (this.#plan.signal.aborted) this.#onAbort();
    else if (this.#res.destroyed) this.#onCallerClosed();
    else {
      this.#isFresh = fresh;
      this.#exchange = this.#edges.http.send({ ...this.#plan.request, fresh }, this);
    }
  }

  onHead(status: number, headers: ResponseHeaders): void {
    this.#progressed();
    this.#status = status;
    if (status >= 300 && status < 400) {
      // A redirect would send the caller, with its API key, to any address the engine names.
      this.#break({
        status: 502,
        code: 'engine_bad_response',
        message: `The engine answered with a redirect (HTTP ${status}); check its address.`,
      });
      return;
    }
    this.#meter = this.#plan.meterFor(status, headers);
    this.#res.writeHead(status, callerHeaders(headers));
    // Sent at once, because the first token may be minutes away.
    this.#res.flushHeaders();
  }

  onData(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#progressed();
    this.#meter.see(chunk, this.#lastProgressTicks);
    if (this.#res.write(chunk)) return;
    this.#exchange?.pause();
  }

  onEnd(): void {
    if (this.#isOver) return;
    this.#res.end();
    this.#finish({ kind: 'served', status: this.#status, meter: this.#meter });
  }

  onFailure(failure: TransportFailure): void {
    if (this.#isOver) return;
    // The engine closed the kept-alive connection before it saw the request.
    if (failure.stale && !this.#isFresh) {
      this.send(true);
      return;
    }
    if (failure.kind === 'exhausted') {
      this.#sendError(EXHAUSTED);
      this.#finish({ kind: 'cancelled' });
      return;
    }
    const isMalformed = failure.kind === 'malformed';
    this.#break({
      status: 502,
      code: isMalformed ? 'engine_bad_response' : 'engine_unreachable',
      message: `The engine of this machine did not answer: ${failure.detail}.`,
    });
  }

  #progressed(): void {
    this.#lastProgressTicks = this.#edges.clock.ticks();
  }

  readonly #onDrain = (): void => {
    this.#progressed();
    this.#meter.slowed();
    this.#exchange?.resume();
  };

  readonly #onTime = (): void => {
    const leftMs = this.#lastProgressTicks + this.#plan.silenceMs - this.#edges.clock.ticks();
    if (leftMs > 0) {
      this.#cancelTimer = this.#edges.clock.after(leftMs, this.#onTime);
      return;
    }
    const seconds = this.#plan.silenceMs / 1000;
    const message = `The engine of this machine was silent for ${seconds} s.`;
    this.#break({ status: 504, code: 'engine_timeout', message });
  };

  readonly #onCallerClosed = (): void => {
    this.#exchange?.abort();
    this.#finish({ kind: 'cancelled' });
  };

  readonly #onAbort = (): void => {
    this.#exchange?.abort();
    this.#sendError(this.#plan.abortError());
    this.#finish({ kind: 'cancelled' });
  };

  #break(error: AgentError): void {
    this.#exchange?.abort();
    this.#sendError(error);
    this.#finish({ kind: 'broken' });
  }

  /** A response that has begun is cut off, so that it does not look complete. */
  #sendError(error: AgentError): void {
    if (this.#res.headersSent) this.#res.destroy();
    else sendError(this.#res, error);
  }

  #finish(end: ForwardEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    this.#res.off('close', this.#onCallerClosed);
    this.#res.off('drain', this.#onDrain);
    this.#plan.signal.removeEventListener('abort', this.#onAbort);
    this.#resolve(end);
  }
}

/** Passed back from the engine to the caller; the length shows whether a response was cut. */
const TO_CALLER =
  /^(content-(type|length|encoding)|x-request-id|request-id|retry-after|retry-after-ms)$|^(x-ratelimit|openai|anthropic)-/;

/**
 * The headers of a request to the engine, names and values in turn. `engineAuthorization`, set by the owner, replaces
 * the caller's.
 */
export function engineHeaders(
  caller: IncomingHttpHeaders,
  engineAuthorization: string | null,
  hasBody: boolean,
): string[] {
  const headers = hasBody ? ['content-type', caller['content-type'] ?? 'application/json'] : [];
  const authorization = engineAuthorization ?? caller.authorization;
  if (authorization !== undefined) headers.push('authorization', authorization);
  return [...headers, ...fromCaller(caller)];
}

function callerHeaders(engine: ResponseHeaders): Record<string, string> {
  return { 'cache-control': 'no-store', ...NOSNIFF, ...passedHeaders(engine, TO_CALLER) };
}

/** The model is not read from larger bodies: parsing them would block the event loop. */
const MAX_PARSED_BYTES = 1024 * 1024;

/** The `model` of a request body; null if it has none or is too large. */
export function requestedModel(bytes: Buffer): string | null {
  if (bytes.length > MAX_PARSED_BYTES) return null;
  // Malformed bodies are forwarded to the engine, which reports the error.
  const model = memberOf(parseJson(bytes.toString('utf8')), 'model');
  return typeof model === 'string' && model !== '' && model.length <= 1024 ? model : null;
}
