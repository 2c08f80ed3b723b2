import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AgentView } from '#shared/agent.ts';
import { type BodyShare, createBodyBudget, readBody } from '../../platform/http/bodies.ts';
import type {
  HttpRequest,
  ResponseHeaders,
  Exchange,
  ResponseListener,
} from '../../platform/http/types.ts';
import type { EngineAddress } from '../../engines/adapters/probe.ts';
import type { AgentContext } from '../context.ts';
import type { PowerWatch } from '../energy.ts';
import { holds } from '../engines/tell-engine.ts';
import type { EngineWatch } from '../engines/watch.ts';
import { type AgentCounters, createMeter, type Meter } from './counters.ts';
import { type AgentError, closedError, sendError } from './errors.ts';
import { fromCaller, passedHeaders, toCaller } from '../../platform/http/passed-headers.ts';
import { NOSNIFF, SHORT_REST_BYTES } from '../../platform/http/responses.ts';
import { memberOf, parseJson } from '../../platform/json.ts';

interface InferenceParts {
  readonly engines: Pick<EngineWatch, 'engine' | 'target' | 'isStuck' | 'look'>;
  readonly counters: AgentCounters;
  readonly power: Pick<PowerWatch, 'began'>;
  readonly mode: () => Pick<AgentView['owner'], 'mode' | 'reasons'>;
  readonly onInFlight: () => void;
}

export type Inference = ReturnType<typeof createInference>;

/** Concurrent requests; an engine queues far fewer, and more are answered with `busy`. */
const MAX_IN_FLIGHT = 256;
/** Time without data. The gateway ends its calls earlier: it knows how long the prompt is. */
const SILENCE_MS = 7_200_000;
const MODELS_SILENCE_MS = 10_000;
/** The engine is checked after this time without an answer. */
const QUIET_MS = 5000;

const NO_ENGINE: AgentError = {
  status: 503,
  code: 'no_engine',
  message:
    'No inference engine was found on this machine. Start one, or set agent.engineUrl (INGLENOOK_ENGINE_URL) to its address.',
  retryAfterMs: 30_000,
};

const STUCK: AgentError = {
  status: 502,
  code: 'engine_unreachable',
  message: 'The engine of this machine accepts connections but does not answer: restart it.',
};

const BUSY: AgentError = {
  status: 503,
  code: 'busy',
  message: 'This machine is at its limit of concurrent requests.',
  retryAfterMs: 2000,
};

function wrongType(path: string): AgentError {
  const [kind, type] =
    path === FORM_PATH ? ['a form', 'multipart/form-data'] : ['JSON', 'application/json'];
  const message = `The body must be ${kind}: send "Content-Type: ${type}", without a content encoding.`;
  return { status: 415, code: 'unsupported_media_type', message };
}

/** The only route whose bodies are forms. */
export const FORM_PATH = '/v1/audio/transcriptions';

export function createInference(context: AgentContext, parts: InferenceParts) {
  const { clock, config, direct } = context;
  const { engines, counters } = parts;
  let inFlight = 0;
  let lastEndedTicks: number | null = null;
  let running = new AbortController();
  /** Each aborts a request that the engine has not begun to answer. */
  const unanswered = new Set<AbortController>();
  // Bodies are forwarded unchanged.
  const bodies = createBodyBudget(1);
  const shortRest = { clock, maxRestBytes: SHORT_REST_BYTES };

  /** The error for new requests; null while they are accepted. */
  function closed(): AgentError | null {
    const { mode, reasons } = parts.mode();
    return mode === 'on' ? null : closedError(mode, reasons);
  }

  /** What the engine has just loaded is worth a reading: gateways prefer a machine that has a model in memory. */
  function lookIfLoaded(model: string | null): void {
    const loaded = engines.engine()?.loaded ?? null;
    if (model !== null && loaded !== null && !holds(loaded, model)) engines.look();
  }

  async function answer(
    req: IncomingMessage,
    res: ServerResponse,
    { path, share }: { readonly path: string; readonly share: BodyShare },
  ): Promise<void> {
    const { signal } = running;
    const { maxBodyBytes, maxBodiesInFlightBytes } = config().gateway;
    const maxBytes = Math.min(maxBodyBytes, maxBodiesInFlightBytes);
    const bytes = await readBody(req, { maxBytes, share });
    if (bytes === 'aborted') return;
    if (bytes === 'no_room') return sendError(res, BUSY, shortRest);
    if (bytes === 'too_large') return sendError(res, tooLarge(maxBytes), { clock });
    const engine = engines.target();
    if (engine === null) return sendError(res, NO_ENGINE);
    if (engines.isStuck()) return sendError(res, STUCK);
    const model = requestedModel(bytes);
    if (model !== null) counters.asked(model);
    const waiting = new AbortController();
    unanswered.add(waiting);
    const cancelQuiet = clock.after(QUIET_MS, engines.look);
    const answered = () => {
      unanswered.delete(waiting);
      cancelQuiet();
    };
    const energyEnded = parts.power.began(model ?? engines.engine()?.currentModel ?? '');
    const end = await forward(
      {
        request: requestTo(engine, { method: 'POST', path, body: bytes }, req),
        silenceMs: SILENCE_MS,
        meterFor(status, headers) {
          answered();
          lookIfLoaded(model);
          return tokenMeter(path, status, headers);
        },
        signal: AbortSignal.any([signal, waiting.signal]),
        abortError: () => (waiting.signal.aborted ? STUCK : (closed() ?? BUSY)),
      },
      res,
      context,
    );
    answered();
    // Gateways hear of it soon, because a change of the engine's state sends a heartbeat.
    if (end.kind === 'broken') engines.look();
    const isServed = end.kind === 'served' && end.status < 300;
    const count = (isServed ? end.meter?.count() : null) ?? NOTHING_COUNTED;
    if (isServed) counters.served(count);
    energyEnded(count.tokens);
  }

  return {
    async post(req: IncomingMessage, res: ServerResponse, path: string) {
      const refused = hasType(req, path) ? closed() : wrongType(path);
      if (refused !== null || inFlight >= MAX_IN_FLIGHT)
        return sendError(res, refused ?? BUSY, shortRest);
      inFlight += 1;
      parts.onInFlight();
      const share = bodies.share(config().gateway.maxBodiesInFlightBytes);
      try {
        await answer(req, res, { path, share });
      } finally {
        share.giveBack();
        inFlight -= 1;
        lastEndedTicks = clock.ticks();
        parts.onInFlight();
      }
    },
    async models(req: IncomingMessage, res: ServerResponse) {
      const engine = engines.target();
      if (engine === null) return sendError(res, NO_ENGINE);
      const request = requestTo(engine, { method: 'GET', path: '/v1/models', body: null }, req);
      const limits = { silenceMs: MODELS_SILENCE_MS, signal: running.signal };
      const plan = { request, ...limits, meterFor: () => null, abortError: () => BUSY };
      await forward(plan, res, context);
    },
    /** With those that go past this agent. */
    inFlight: () => inFlight + direct.inFlight(),
    /** Null before the first request has ended. */
    lastEndedTicks: () => lastEndedTicks,
    endAll() {
      running.abort();
      running = new AbortController();
      direct.endAll();
    },
    /** Answers the requests that the engine has not begun to answer with an error. */
    endUnanswered() {
      for (const waiting of unanswered) waiting.abort();
    },
  };
}

/** The authorization that the owner has set for the engine replaces the caller's. */
function requestTo(
  { origin, basePath, authorization }: EngineAddress,
  { method, path, body }: Pick<HttpRequest, 'method' | 'path' | 'body'>,
  { headers: caller }: IncomingMessage,
): HttpRequest {
  const type = caller['content-type'] ?? 'application/json';
  const credentials = authorization ?? caller.authorization;
  const headers = [
    ...(body === null ? [] : ['content-type', type]),
    ...(credentials === undefined ? [] : ['authorization', credentials]),
    ...fromCaller(caller, authorization === null ? 'own' : 'other'),
  ];
  return { method, origin, path: basePath + path, headers, body };
}

function hasType({ headers }: IncomingMessage, path: string): boolean {
  const type = headers['content-type'] ?? '';
  const wanted = path === FORM_PATH ? /^multipart\/form-data\s*;/i : /^application\/json\s*(;|$)/i;
  return wanted.test(type) && headers['content-encoding'] === undefined;
}

const NOTHING_COUNTED = { tokens: 0, decodeTps: null };

const COUNTED_PATHS = new Set(['/v1/chat/completions', '/v1/completions']);

function tokenMeter(path: string, status: number, headers: ResponseHeaders): Meter | null {
  // Other routes name their tokens differently or have none; compressed bodies are not decoded here.
  const isCounted = status < 300 && COUNTED_PATHS.has(path);
  return isCounted && headers['content-encoding'] === undefined ? createMeter() : null;
}

function tooLarge(maxBodyBytes: number): AgentError {
  return {
    status: 413,
    code: 'body_too_large',
    message: `The body is over the limit of ${maxBodyBytes} bytes (INGLENOOK_MAX_BODY_BYTES).`,
  };
}

type ForwardEnd =
  | { readonly kind: 'served'; readonly status: number; readonly meter: Meter | null }
  /** The engine sent no complete response; the caller got an error or a truncated response. */
  | { readonly kind: 'broken' }
  /** The caller closed the connection, `signal` ended the call, or it was never made. */
  | { readonly kind: 'cancelled' };

interface ForwardPlan {
  readonly request: HttpRequest;
  /** Longest time without data from the engine or progress by a slow caller. */
  readonly silenceMs: number;
  /** Called once the response head is known; null if there are no tokens to count. */
  readonly meterFor: (status: number, headers: ResponseHeaders) => Meter | null;
  /** Aborts when the owner pauses the machine or the agent stops. */
  readonly signal: AbortSignal;
  /** The error for the caller when `signal` aborts before the response has begun. */
  readonly abortError: () => AgentError;
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
function forward(
  { request, silenceMs, meterFor, signal, abortError }: ForwardPlan,
  res: ServerResponse,
  { http, clock }: AgentContext,
): Promise<ForwardEnd> {
  const { promise, resolve } = Promise.withResolvers<ForwardEnd>();
  let exchange: Exchange | null = null;
  let meter: Meter | null = null;
  let responseStatus = 0;
  let lastProgressTicks = clock.ticks();
  let cancelTimer = clock.after(silenceMs, onTime);
  res.on('close', onCallerClosed);
  res.on('drain', onDrain);

  const listener: ResponseListener = {
    onHead(status, headers) {
      progressed();
      responseStatus = status;
      if (status >= 300 && status < 400) {
        // A redirect would send the caller, with its API key, to any address the engine names.
        const message = `The engine answered with a redirect (HTTP ${status}); check its address.`;
        return breakOff({ status: 502, code: 'engine_bad_response', message });
      }
      meter = meterFor(status, headers);
      res.writeHead(status, callerHeaders(headers));
      // Sent at once, because the first token may be minutes away.
      res.flushHeaders();
    },
    onData(chunk) {
      progressed();
      meter?.see(chunk, lastProgressTicks);
      if (!res.write(chunk)) exchange?.pause();
    },
    onEnd() {
      res.end();
      finish({ kind: 'served', status: responseStatus, meter });
    },
    onFailure({ kind, detail }) {
      if (kind === 'ended') return breakOff(abortError(), 'cancelled');
      if (kind === 'exhausted') return breakOff(EXHAUSTED, 'cancelled');
      const code = kind === 'malformed' ? 'engine_bad_response' : 'engine_unreachable';
      const message = `The engine of this machine did not answer: ${detail}.`;
      breakOff({ status: 502, code, message });
    },
  };

  function progressed(): void {
    lastProgressTicks = clock.ticks();
  }

  function onDrain(): void {
    progressed();
    meter?.slowed();
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

  /** A response that has begun is cut off, so that it does not look complete. */
  function breakOff(error: AgentError, kind: 'broken' | 'cancelled' = 'broken'): void {
    exchange?.abort();
    if (res.headersSent) res.destroy();
    else sendError(res, error);
    finish({ kind });
  }

  function finish(end: ForwardEnd): void {
    cancelTimer();
    res.off('close', onCallerClosed);
    res.off('drain', onDrain);
    resolve(end);
  }

  if (res.destroyed) onCallerClosed();
  else exchange = http.send({ ...request, signal }, listener);
  return promise;
}

/** The length shows whether a response was cut. */
const OF_BODY = /^content-(type|length|encoding)$/;

function callerHeaders(engine: ResponseHeaders): Record<string, string> {
  return {
    'cache-control': 'no-store',
    ...NOSNIFF,
    ...passedHeaders(engine, OF_BODY),
    ...toCaller(engine),
  };
}

/** The model is not read from larger bodies: parsing them would block the event loop. */
const MAX_PARSED_BYTES = 1024 * 1024;

/** The `model` of a request body; null if it has none or is too large. */
function requestedModel(bytes: Buffer): string | null {
  if (bytes.length > MAX_PARSED_BYTES) return null;
  // Malformed bodies are forwarded to the engine, which reports the error.
  const model = memberOf(parseJson(bytes.toString('utf8')), 'model');
  return typeof model === 'string' && model !== '' && model.length <= 1024 ? model : null;
}
