import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BodyBudget, BodyShare } from '../../platform/body-budget.ts';
import { readBody } from '../../platform/http/server.ts';
import type { HttpRequest, ResponseHeaders } from '../../platform/http/types.ts';
import type { Counters } from './counters.ts';
import { type AgentError, MAX_REST_BYTES, sendError, sendErrorEarly } from './errors.ts';
import { forward, type ForwardEdges } from './forward.ts';
import { engineHeaders, modelAskedFor } from './headers.ts';
import { createNoMeter, createStreamMeter, createWholeMeter, type Meter } from './token-meter.ts';

export interface EngineTarget {
  readonly origin: string;
  /** Path in front of `/v1`. */
  readonly basePath: string;
  /** The engine's own key as an `Authorization` value; null where the owner has set none. */
  readonly authorization: string | null;
}

export interface InferenceDeps extends ForwardEdges {
  readonly engine: () => EngineTarget | null;
  /** Null while requests are taken. */
  readonly closed: () => AgentError | null;
  readonly maxBodyBytes: () => number;
  readonly bodies: BodyBudget;
  /** Concurrent requests; further ones are answered with "busy". */
  readonly maxInFlight: number;
  readonly counters: Counters;
  /** The number of running requests has changed. */
  readonly onInFlight: () => void;
  /** The engine gave no answer, or broke one off. */
  readonly onBroken: () => void;
}

export interface Inference {
  /** Runs inference. */
  post(req: IncomingMessage, res: ServerResponse, path: string): Promise<void>;
  /** Lists the engine's models. */
  models(req: IncomingMessage, res: ServerResponse): Promise<void>;
  inFlight(): number;
  /** In ticks; null before the first request has ended. */
  lastEndedTicks(): number | null;
  /** Ends all running requests. */
  endAll(): void;
}

/** A long prompt on a slow machine may take minutes before its first token. */
const SILENCE_MS = 600_000;
/** A list of models is answered at once. */
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

const NOT_JSON: AgentError = {
  status: 415,
  code: 'unsupported_media_type',
  message:
    'The body must be JSON: send "Content-Type: application/json", without a content encoding.',
};

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
    const model = modelAskedFor(body.bytes);
    if (model !== null) counters.asked(model);
    const end = await forward(
      {
        request: requestTo(engine, { method: 'POST', path, body: body.bytes }, req),
        silenceMs: SILENCE_MS,
        meterFor: (status, headers) => meterFor(path, status, headers),
        signal,
        whenEnded: () => deps.closed() ?? BUSY,
      },
      res,
      deps,
    );
    if (end.kind === 'broken') deps.onBroken();
    if (end.kind === 'served' && end.status < 300) counters.served(end.meter.count());
  }

  return {
    async post(req, res, path) {
      const refused = isJson(req) ? deps.closed() : NOT_JSON;
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
          whenEnded: () => BUSY,
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

function isJson({ headers }: IncomingMessage): boolean {
  const type = headers['content-type'] ?? '';
  return /^application\/json\s*(;|$)/i.test(type) && headers['content-encoding'] === undefined;
}

function meterFor(path: string, status: number, headers: ResponseHeaders): Meter {
  // Embeddings are lists of numbers without tokens; a compressed body cannot be read here.
  const isCounted = status < 300 && path !== '/v1/embeddings';
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
