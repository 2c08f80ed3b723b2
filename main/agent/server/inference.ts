import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BodyBudget, BodyShare } from '../../platform/body-budget.ts';
import type { Clock } from '../../platform/clock.ts';
import { type BodyRefusal, readBody, TOO_SLOW_BODY } from '../../platform/http/server.ts';
import type { HttpRequest, ResponseHeaders } from '../../platform/http/types.ts';
import type { EngineAddress } from '../../engines/adapters/probe.ts';
import type { Counters } from './counters.ts';
import { type AgentError, MAX_REST_BYTES, sendError, sendErrorEarly } from './errors.ts';
import { engineHeaders, forward, type ForwardEdges, requestedModel } from './forward.ts';
import { createNoMeter, createStreamMeter, createWholeMeter, type Meter } from './token-meter.ts';

interface InferenceDeps extends ForwardEdges {
  readonly engine: () => EngineAddress | null;
  /** The error for new requests; null while they are accepted. */
  readonly closed: () => AgentError | null;
  readonly maxBodyBytes: () => number;
  readonly bodies: BodyBudget;
  /** Limit of concurrent requests; more are answered with `busy`. */
  readonly maxInFlight: number;
  readonly counters: Counters;
  /** A request for a model begins; its result is called at the end, with the tokens that it generated. */
  readonly energyBegan: (model: string | null) => (tokens: number) => void;
  /** Called when the number of running requests has changed. */
  readonly onInFlight: () => void;
  /** Called when the engine sends an incomplete response, or none for some seconds. */
  readonly onTrouble: () => void;
  /** The engine begins to answer a request for that model. */
  readonly onAnswer: (model: string | null) => void;
  /** The engine accepts connections but does not answer. */
  readonly isStuck: () => boolean;
}

export type Inference = ReturnType<typeof createInference>;

/** Time without data: on a slow machine the first token of a long prompt may take minutes. */
const SILENCE_MS = 600_000;
const MODELS_SILENCE_MS = 10_000;

const NO_ENGINE: AgentError = {
  status: 503,
  code: 'no_engine',
  message:
    'No inference engine was found on this machine. Start one, or set SWITCHYARD_ENGINE_URL to its address.',
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

export function createInference(deps: InferenceDeps) {
  const { clock, counters } = deps;
  let inFlight = 0;
  let lastEndedTicks: number | null = null;
  let running = new AbortController();
  const unanswered = createUnanswered(clock, deps.onTrouble);

  async function answer(
    req: IncomingMessage,
    res: ServerResponse,
    { path, share }: { readonly path: string; readonly share: BodyShare },
  ): Promise<void> {
    const { signal } = running;
    const bytes = await bodyOf(req, res, { share, deps });
    if (bytes === null) return;
    const engine = deps.engine();
    if (engine === null || deps.isStuck()) {
      sendError(res, engine === null ? NO_ENGINE : STUCK);
      return;
    }
    const model = requestedModel(bytes);
    if (model !== null) counters.asked(model);
    const waiting = unanswered.add();
    const energyEnded = deps.energyBegan(model);
    const end = await forward(
      {
        request: requestTo(engine, { method: 'POST', path, body: bytes }, req),
        silenceMs: SILENCE_MS,
        meterFor(status, headers) {
          waiting.answered();
          deps.onAnswer(model);
          return meterFor(path, status, headers);
        },
        signal: AbortSignal.any([signal, waiting.signal]),
        abortError: () => (waiting.signal.aborted ? STUCK : (deps.closed() ?? BUSY)),
      },
      res,
      deps,
    );
    waiting.answered();
    if (end.kind === 'broken') deps.onTrouble();
    const count = end.kind === 'served' && end.status < 300 ? end.meter.count() : null;
    if (count !== null) counters.served(count);
    energyEnded(count?.tokens ?? 0);
  }

  return {
    /** Answers a request of one of the inference routes. */
    async post(req: IncomingMessage, res: ServerResponse, path: string) {
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
    async models(req: IncomingMessage, res: ServerResponse) {
      const engine = deps.engine();
      if (engine === null) {
        sendError(res, NO_ENGINE);
        return;
      }
      const request = requestTo(engine, { method: 'GET', path: '/v1/models', body: null }, req);
      const limits = { silenceMs: MODELS_SILENCE_MS, signal: running.signal };
      const plan = { request, ...limits, meterFor: createNoMeter, abortError: () => BUSY };
      await forward(plan, res, deps);
    },
    inFlight: () => inFlight,
    /** Null before the first request has ended. */
    lastEndedTicks: () => lastEndedTicks,
    /** Aborts all running requests. */
    endAll() {
      running.abort();
      running = new AbortController();
    },
    /** Answers the requests that the engine has not begun to answer with an error. */
    endUnanswered: () => unanswered.giveUp(),
  };
}

/** Null if the request is over: its caller has gone, or was sent an error. */
async function bodyOf(
  req: IncomingMessage,
  res: ServerResponse,
  { share, deps }: { readonly share: BodyShare; readonly deps: InferenceDeps },
): Promise<Buffer | null> {
  const { clock, bodies } = deps;
  const maxBytes = Math.min(deps.maxBodyBytes(), bodies.largestBytes());
  const body = await readBody(req, { maxBytes, share, clock });
  if (typeof body !== 'string') return body;
  if (body !== 'aborted') {
    const maxRestBytes = MAX_REST_AFTER[body];
    sendErrorEarly(req, res, refusalOf(body, maxBytes), { clock, maxRestBytes });
  }
  return null;
}

function requestTo(
  { origin, basePath, authorization }: EngineAddress,
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
  // Other routes name their tokens differently or have none; compressed bodies are not decoded here.
  const isCounted = status < 300 && COUNTED_PATHS.has(path);
  if (!isCounted || headers['content-encoding'] !== undefined) return createNoMeter();
  const type = headers['content-type'];
  const isStream = typeof type === 'string' && type.startsWith('text/event-stream');
  return isStream ? createStreamMeter() : createWholeMeter();
}

const MAX_REST_AFTER: Readonly<Record<BodyRefusal, number>> = {
  too_large: Infinity,
  no_room: MAX_REST_BYTES,
  tiny_pieces: 0,
  too_slow: 0,
};

function refusalOf(kind: BodyRefusal, maxBytes: number): AgentError {
  switch (kind) {
    case 'too_large':
      return tooLarge(maxBytes);
    case 'no_room':
      return BUSY;
    case 'tiny_pieces':
      return TINY_PIECES;
    case 'too_slow':
      return TOO_SLOW;
  }
}

const TINY_PIECES: AgentError = {
  status: 400,
  code: 'invalid_request',
  message: 'The body arrived in pieces of a few bytes each; send it in larger ones.',
};

const TOO_SLOW: AgentError = {
  status: 408,
  code: 'request_timeout',
  message: TOO_SLOW_BODY,
};

function tooLarge(maxBodyBytes: number): AgentError {
  return {
    status: 413,
    code: 'body_too_large',
    message: `The body is over the limit of ${maxBodyBytes} bytes (SWITCHYARD_MAX_BODY_BYTES).`,
  };
}

/** The engine is checked after this time without an answer. */
const QUIET_MS = 5000;

/** `onQuiet` is called for each request that has waited for `QUIET_MS`. */
function createUnanswered(clock: Clock, onQuiet: () => void) {
  const waiting = new Set<AbortController>();
  return {
    add() {
      const controller = new AbortController();
      waiting.add(controller);
      const cancelTimer = clock.after(QUIET_MS, onQuiet);
      return {
        signal: controller.signal,
        answered() {
          waiting.delete(controller);
          cancelTimer();
        },
      };
    },
    giveUp() {
      for (const controller of waiting) controller.abort();
    },
  };
}
