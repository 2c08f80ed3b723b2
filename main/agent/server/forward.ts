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
  { request, silenceMs, meterFor, signal, abortError }: ForwardPlan,
  res: ServerResponse,
  { http, clock }: ForwardEdges,
): Promise<ForwardEnd> {
  const { promise, resolve } = Promise.withResolvers<ForwardEnd>();
  let exchange: Exchange | null = null;
  let meter = createNoMeter();
  let responseStatus = 0;
  let isFresh = false;
  let isOver = false;
  let lastProgressTicks = clock.ticks();
  let cancelTimer = clock.after(silenceMs, onTime);
  res.on('close', onCallerClosed);
  res.on('drain', onDrain);
  signal.addEventListener('abort', onAbort);

  function send(fresh: boolean): void {
    if (signal.aborted) onAbort();
    else if (res.destroyed) onCallerClosed();
    else {
      isFresh = fresh;
      exchange = http.send({ ...request, fresh }, listener);
    }
  }

  const listener: ResponseListener = {
    onHead(status, headers) {
      progressed();
      responseStatus = status;
      if (status >= 300 && status < 400) {
        // A redirect would send the caller, with its API key, to any address the engine names.
        breakOff({
          status: 502,
          code: 'engine_bad_response',
          message: `The engine answered with a redirect (HTTP ${status}); check its address.`,
        });
        return;
      }
      meter = meterFor(status, headers);
      res.writeHead(status, callerHeaders(headers));
      // Sent at once, because the first token may be minutes away.
      res.flushHeaders();
    },
    onData(chunk) {
      if (isOver) return;
      progressed();
      meter.see(chunk, lastProgressTicks);
      if (!res.write(chunk)) exchange?.pause();
    },
    onEnd() {
      if (isOver) return;
      res.end();
      finish({ kind: 'served', status: responseStatus, meter });
    },
    onFailure({ kind, stale, detail }) {
      if (isOver) return;
      // The engine closed the kept-alive connection before it saw the request.
      if (stale && !isFresh) {
        send(true);
        return;
      }
      if (kind === 'exhausted') {
        tellCaller(EXHAUSTED);
        finish({ kind: 'cancelled' });
        return;
      }
      breakOff({
        status: 502,
        code: kind === 'malformed' ? 'engine_bad_response' : 'engine_unreachable',
        message: `The engine of this machine did not answer: ${detail}.`,
      });
    },
  };

  function progressed(): void {
    lastProgressTicks = clock.ticks();
  }

  function onDrain(): void {
    progressed();
    meter.slowed();
    exchange?.resume();
  }

  function onTime(): void {
    const leftMs = lastProgressTicks + silenceMs - clock.ticks();
    if (leftMs > 0) {
      cancelTimer = clock.after(leftMs, onTime);
      return;
    }
    const message = `The engine of this machine was silent for ${silenceMs / 1000} s.`;
    breakOff({ status: 504, code: 'engine_timeout', message });
  }

  function onCallerClosed(): void {
    exchange?.abort();
    finish({ kind: 'cancelled' });
  }

  function onAbort(): void {
    exchange?.abort();
    tellCaller(abortError());
    finish({ kind: 'cancelled' });
  }

  function breakOff(error: AgentError): void {
    exchange?.abort();
    tellCaller(error);
    finish({ kind: 'broken' });
  }

  /** A response that has begun is cut off, so that it does not look complete. */
  function tellCaller(error: AgentError): void {
    if (res.headersSent) res.destroy();
    else sendError(res, error);
  }

  function finish(end: ForwardEnd): void {
    if (isOver) return;
    isOver = true;
    cancelTimer();
    res.off('close', onCallerClosed);
    res.off('drain', onDrain);
    signal.removeEventListener('abort', onAbort);
    resolve(end);
  }

  send(false);
  return promise;
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
