import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BodyBudget, BodyShare } from '../../platform/body-budget.ts';
import { readBody } from '../../platform/http/server.ts';
import type { HttpRequest, ResponseHeaders } from '../../platform/http/types.ts';
import type { Counters } from './counters.ts';
import { type AgentError, MAX_REST_BYTES, sendError, sendErrorEarly } from './errors.ts';
import { forward, type ForwardEdges } from './forward.ts';
import { engineHeaders, requestedModel } from './headers.ts';
import { createNoMeter, createStreamMeter, createWholeMeter, type Meter } from './token-meter.ts';

export interface EngineTarget {
  readonly origin: string;
  /** Path in front of `/v1`. */
  readonly basePath: string;
  /** `Authorization` for the engine; null if the owner has set none. */
  readonly authorization: string | null;
}

export interface InferenceDeps extends ForwardEdges {
  readonly engine: () => EngineTarget | null;
  /** The error for new requests; null while they are accepted. */
  readonly closed: () => AgentError | null;
  readonly maxBodyBytes: () => number;
  readonly bodies: BodyBudget;
  /** Concurrent requests; further ones get `busy`. */
  readonly maxInFlight: number;
  readonly counters: Counters;
  /** Called when the number of running requests has changed. */
  readonly onInFlight: () => void;
  /** Called when the engine sent no complete response. */
  readonly onBroken: () => void;
}

export interface Inference {
  /** Answers a request of one of the inference routes. */
  post(req: IncomingMessage, res: ServerResponse, path: string): Promise<void>;
  models(req: IncomingMessage, res: ServerResponse): Promise<void>;
  inFlight(): number;
  /** Null before the first request has ended. */
  lastEndedTicks(): number | null;
  /** Aborts all running requests. */
  endAll(): void;
}

/** On a slow machine the first token of a long prompt may take minutes. */
const SILENCE_MS = 600_000;
const MODELS_SILENCE_MS = 10_000;

const NO_ENGINE: AgentError = {
  status: 503,
  code: 'no_engine',
  message:
    'No inference engine was found on this machine. Start one, or set SWITCHYARD_ENGINE_URL to its address.',
  retryAfterMs: 30_000,
};

const BUSY: AgentError = {
  status: 503,
  code: 'busy',
  message: 'This machine is busy with as many requests as it takes at once.',
  retryAfterMs: 2000,
};

function wrongType(path: string): AgentError {
  const [kind, type] =
    path === FORM_PATH ? ['a form', 'multipart/form-data'] : ['JSON', 'application/json'];
  const message = `The body must be ${kind}: send "Content-Type: ${type}", without a content encoding.`;
  return { status: 415, code: 'unsupported_media_type', message };
}

/** The one route whose bodies are forms. */
export const FORM_PATH = '/v1/audio/transcriptions';

export function createInference(deps: InferenceDeps): Inference {
  const { clock, counters } = deps;
  let inFlight = 0;
  let lastEndedTicks: number | null = null;
  let running = new AbortController();

  async function answer(
    req: IncomingMessage,
    res: ServerResponse,
    { path, share }: { readonly path: string; readonly share: BodyShare },
  ): Promise<void> {
    const { signal } = running;
    const maxBytes = Math.min(deps.maxBodyBytes(), deps.bodies.largestBytes());
    const body = await readBody(req, { maxBytes, share });
    if (body.kind === 'aborted') return;
    if (body.kind === 'too_large') {
      sendErrorEarly(req, res, tooLarge(maxBytes), { clock, maxRestBytes: Infinity });
      return;
    }
    if (body.kind !== 'body') {
      sendErrorEarly(req, res, BUSY, { clock, maxRestBytes: MAX_REST_BYTES });
      return;
    }
    const engine = deps.engine();
    if (engine === null) {
      sendError(res, NO_ENGINE);
      return;
    }
    const model = requestedModel(body.bytes);
    if (model !== null) counters.asked(model);
    const end = await forward(
      {
        request: requestTo(engine, { method: 'POST', path, body: body.bytes }, req),
        silenceMs: SILENCE_MS,
        meterFor: (status, headers) => meterFor(path, status, headers),
        signal,
        abortError: () => deps.closed() ?? BUSY,
      },
      res,
      deps,
    );
    if (end.kind === 'broken') deps.onBroken();
    if (end.kind === 'served' && end.status < 300) counters.served(end.meter.count());
  }

  return {
    async post(req, res, path) {
      const refused = hasType(req, path) ? deps.closed() : wrongType(path);
      if (refused !== null || inFlight >= deps.maxInFlight) {
        sendErrorEarly(req, res, refused ?? BUSY, { clock, maxRestBytes: MAX_REST_BYTES });
        return;
      }
      inFlight += 1;
      deps.onInFlight();
      const share = deps.bodies.share();
      try {
        await answer(req, res, { path, share });
      } finally {
        share.giveBack();
        inFlight -= 1;
        lastEndedTicks = clock.ticks();
        deps.onInFlight();
      }
    },
    async models(req, res) {
      const engine = deps.engine();
      if (engine === null) {
        sendError(res, NO_ENGINE);
        return;
      }
      await forward(
        {
          request: requestTo(engine, { method: 'GET', path: '/v1/models', body: null }, req),
          silenceMs: MODELS_SILENCE_MS,
          meterFor: createNoMeter,
          signal: running.signal,
          abortError: () => BUSY,
        },
        res,
        deps,
      );
    },
    inFlight: () => inFlight,
    lastEndedTicks: () => lastEndedTicks,
    endAll() {
      running.abort();
      running = new AbortController();
    },
  };
}

function requestTo(
  { origin, basePath, authorization }: EngineTarget,
  { method, path, body }: Pick<HttpRequest, 'method' | 'path' | 'body'>,
  req: IncomingMessage,
): Omit<HttpRequest, 'fresh'> {
  const headers = engineHeaders(req.headers, authorization, body !== null);
  return { method, origin, path: basePath + path, headers, body };
}

function hasType({ headers }: IncomingMessage, path: string): boolean {
  const type = headers['content-type'] ?? '';
  const wanted = path === FORM_PATH ? /^multipart\/form-data\s*;/i : /^application\/json\s*(;|$)/i;
  return wanted.test(type) && headers['content-encoding'] === undefined;
}

const COUNTED_PATHS = new Set(['/v1/chat/completions', '/v1/completions']);

function meterFor(path: string, status: number, headers: ResponseHeaders): Meter {
  // Others name their tokens differently, or have none; compressed bodies are not decoded here.
  const isCounted = status < 300 && COUNTED_PATHS.has(path);
  if (!isCounted || headers['content-encoding'] !== undefined) return createNoMeter();
  const type = headers['content-type'];
  const isStream = typeof type === 'string' && type.startsWith('text/event-stream');
  return isStream ? createStreamMeter() : createWholeMeter();
}

function tooLarge(maxBodyBytes: number): AgentError {
  return {
    status: 413,
    code: 'body_too_large',
    message: `The body is over ${maxBodyBytes} bytes, which SWITCHYARD_MAX_BODY_BYTES allows.`,
  };
}
