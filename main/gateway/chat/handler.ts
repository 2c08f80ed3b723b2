import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { maskSecret } from '../../config/setting-types.ts';
import type { Config } from '../../config/schema.ts';
import { Cancellation, isoTime } from '../../platform/clock.ts';
import { peerAddress } from '../../platform/http/addresses.ts';
import { type BodyBudget, type BodyShare, readPlainBody } from '../../platform/http/bodies.ts';
import { type RestPlan, SHORT_REST_BYTES } from '../../platform/http/responses.ts';
import { type Identity, keyError } from '../auth/keys.ts';
import { type GatewayError, sendError } from '../http/errors.ts';
import type { RoutedRequest } from '../routing/candidates.ts';
import { ANSWER_HEADERS } from '#shared/answer-headers.ts';
import type { RequestCaller } from '#shared/live.ts';
import type { RequestArrival, RequestEnd, RequestObserver } from '../routing/observer.ts';
import { route, type RouterDeps } from '../routing/route.ts';
import type { ItemMemories, ItemMemory } from '../protocols/responses/item-memory.ts';
import { type ChatCall, isZeroSpend } from '../upstream/call.ts';
import type { ModelCatalogue } from '../upstream/model-catalogue.ts';
import { formsOf, isBadRequest, readRequest } from '../protocols/chat-request.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import { aliased, isOwnModel, remoteUpstreams } from '../upstream/upstreams.ts';
import type { FinalDeps } from './final-error.ts';
import { answerChat, type AnswerContext, type DropLogger } from './send-answer.ts';
import { ChatResponse, newRequestId, NOT_ROUTED } from './response.ts';
import { OWN_COMMAND } from '../../platform/process.ts';

export interface ChatDeps extends RouterDeps, FinalDeps {
  readonly catalogue: Pick<ModelCatalogue, 'listedBy'>;
  readonly items: ItemMemories;
  readonly bodies: BodyBudget;
  readonly noteDropped: DropLogger;
  readonly admission: Admission;
  readonly config: () => Config;
  /** Ends once the fixed engine is known; null if it has been since its last failure, or there is none. */
  readonly identifyLocal: (failedAt: number | null) => Promise<void> | null;
  readonly keyLimits: { readonly reached: (key: string) => ReachedLimit | null };
  readonly observe: (arrival: RequestArrival) => RequestObserver;
}

interface Caller {
  readonly endpoint: ApiEndpoint;
  readonly identity: Identity;
  readonly cors: OutgoingHttpHeaders;
}

interface AdmittedCaller extends Caller {
  readonly share: BodyShare;
  readonly place: ReturnType<Admission['place']>;
  readonly limit: Limit;
}

/** Answers a request to an endpoint; resolves when the answer is sent or the caller is gone. */
export async function handleChat(
  req: IncomingMessage,
  res: ServerResponse,
  caller: Caller,
  deps: ChatDeps,
): Promise<void> {
  const { gateway } = deps.config();
  const share = deps.bodies.share(gateway.maxBodiesInFlightBytes);
  const place = deps.admission.place();
  const limit = limitOf(gateway, deps.bodies);
  try {
    await answer(req, res, { ...caller, share, place, limit }, deps);
  } finally {
    share.giveBack();
    place.leave();
  }
}

async function answer(
  req: IncomingMessage,
  res: ServerResponse,
  caller: AdmittedCaller,
  deps: ChatDeps,
): Promise<void> {
  const id = newRequestId();
  const base = { ...caller.cors, [ANSWER_HEADERS.requestId]: id };
  const refused = () => ({ ...base, ...NOT_ROUTED });
  const from = callerOf(req, caller.identity);
  const gone = new Cancellation();
  res.on('close', () => {
    if (!res.writableFinished) gone.abort();
  });
  const read = await readCall(req, caller, deps);
  if (read === 'aborted') return;
  if ('error' in read) {
    const rest = { clock: deps.clock, keptBytes: SHORT_REST_BYTES, ...read.rest };
    sendError(res, read.error, refused(), rest);
    return;
  }
  const { keyName: key } = caller.identity;
  // Nothing is awaited from here until the request counts.
  const reached = key === null ? null : deps.keyLimits.reached(key);
  if (reached !== null) {
    sendError(res, limitReached(reached, deps.clock.now()), { ...refused(), ...NO_RETRY });
    return;
  }
  const { config, remotes, epoch, items } = read;
  const call = read.call;
  const { stream, endpoint, model, requestedModel } = call.request;
  const { upstreamPath, answer: form } = endpoint;
  const arrival = { id, model: requestedModel, stream, caller: from, key, upstreamPath };
  const observer = deps.observe(arrival);
  const format = stream ? form.stream : null;
  const keepAliveMs = form.takesBytes ? 0 : config.routing.keepAliveMs;
  const plan = { id, format, model, base, keepAliveMs, clock: deps.clock };
  const response = new ChatResponse(res, plan, observer);
  const context = { call, config, remotes, epoch, signal: gone, observer: response };
  // Returned, not awaited: this function's variables need not live as long as the answer.
  return routeAndAnswer(context, { res, base, response, items, deps }, gone, deps);
}

/** Whatever comes of the request, a fault of the gateway's included, nothing of it is left open. */
async function routeAndAnswer(
  context: RoutedRequest,
  to: Omit<AnswerContext, 'context' | 'walk'>,
  gone: Cancellation,
  deps: ChatDeps,
): Promise<void> {
  let end: RequestEnd = 'failed';
  try {
    await localIdentified(context, deps);
    end = await route(context, deps, (routed, walk) =>
      answerChat(routed, { ...to, context, walk }),
    );
  } finally {
    // After a fault, calls may still run, and answers wait to be read.
    if (end === 'failed') gone.abort();
    context.observer.ended(end);
  }
}

/** The engine decides the best form of the request and the extra parameters. */
function localIdentified(
  { call: { request }, config }: RoutedRequest,
  { circuits, identifyLocal }: ChatDeps,
): Promise<void> | null {
  const mayTranslate =
    request.endpoint.support === 'translatable' && config.local.protocols !== 'native';
  return mayTranslate ? identifyLocal(circuits.at('local').breaker.health.lastFailAt) : null;
}

type Admission = ReturnType<typeof createAdmission>;

/** Limits the requests that run at the same time. */
export function createAdmission() {
  let running = 0;
  let refused = 0;
  return {
    /** For one request. */
    place() {
      let isHeld = false;
      return {
        /** False while as many are taken. */
        enter(limit: number): boolean {
          isHeld = running < limit;
          if (isHeld) running += 1;
          else refused += 1;
          return isHeld;
        },
        /** Gives back the place, if it was entered. */
        leave(): void {
          if (isHeld) running -= 1;
          isHeld = false;
        },
      };
    },
    /** `refused`: since the start. */
    view: (limit: number) => ({ running, limit, refused }),
  };
}

interface Refusal {
  readonly error: GatewayError;
  readonly rest?: Pick<RestPlan, 'maxRestBytes' | 'keptBytes'>;
}

interface NewCall extends Pick<RoutedRequest, 'call' | 'config' | 'remotes' | 'epoch'> {
  readonly items: ItemMemory | null;
}

async function readCall(
  req: IncomingMessage,
  caller: AdmittedCaller,
  deps: ChatDeps,
): Promise<NewCall | Refusal | 'aborted'> {
  const { endpoint, identity, place, share } = caller;
  const { headers } = req;
  if (!identity.reader) return { error: keyError(headers), rest: SHORT_REST };
  const contentType = headers['content-type'] ?? '';
  if (!MEDIA[endpoint.body].type.test(contentType)) return { error: unsupportedMedia(endpoint) };
  const body = await readPlain(req, caller);
  if (!Buffer.isBuffer(body)) return body;
  // Read together, after the body: a change of settings applies to whole requests.
  const config = deps.config();
  const remotes = remoteUpstreams(config);
  const epoch = deps.circuits.epoch();
  const { modelAliases } = config.routing;
  const { keepsModel } = endpoint;
  const isOwn = (name: string) => isOwnModel(name, remotes, deps.pickLocal());
  const request = await readRequest(body, { endpoint, contentType }, (name) =>
    aliased(modelAliases, { name, isOwn, keepsModel }),
  );
  // The close of a socket is known before its event comes.
  if (req.socket.destroyed) return 'aborted';
  if (isBadRequest(request)) return { error: { status: 400, code: 'invalid_request', ...request } };
  const { maxConcurrentRequests } = config.gateway;
  if (!place.enter(maxConcurrentRequests)) return { error: tooMany(maxConcurrentRequests) };
  const items = endpoint.itemsOf === undefined ? null : deps.items.of(identity.keyName);
  const forms = await formsOf(request, { items, nowMs: deps.clock.now() }, share);
  if (forms === 'no_room') return { error: OVERLOADED };
  const call: ChatCall = {
    request,
    asked: request,
    headers,
    authorization: identity.authorization,
    zeroSpend: isZeroSpend(config, headers['x-gateway-force-zero']),
    ...forms,
  };
  return { call, config, remotes, epoch, items };
}

/** The body, decoded: Codex sends zstd to what it takes for OpenAI (openai/codex#41662), pi gzip (badlogic/pi-mono#8517). */
async function readPlain(
  req: IncomingMessage,
  { endpoint, share, limit }: AdmittedCaller,
): Promise<Buffer | Refusal | 'aborted'> {
  const body = await readPlainBody(req, { maxBytes: limit.maxBytes, share });
  switch (body) {
    case 'unknown_coding':
      return { error: unsupportedMedia(endpoint) };
    case 'undecodable':
      return { error: UNDECODABLE };
    case 'too_large':
      return { error: tooLarge(limit), rest: { keptBytes: null } };
    case 'no_room':
      return { error: OVERLOADED, rest: SHORT_REST };
    default:
      return body;
  }
}

const MEDIA = {
  json: {
    type: /^application\/json\s*(;|$)/i,
    words: 'JSON: send "Content-Type: application/json"',
  },
  multipart: {
    type: /^multipart\/form-data\s*;.*\bboundary=/i,
    words: 'a form: send "Content-Type: multipart/form-data"',
  },
} as const;

const unsupportedMedia = ({ body }: ApiEndpoint): GatewayError => ({
  status: 415,
  code: 'unsupported_media_type',
  message: `The body must be ${MEDIA[body].words}, compressed by gzip, deflate, br or zstd, or not at all.`,
});

/** For bodies without a valid key, and for those that there is no memory for. */
const SHORT_REST = { maxRestBytes: SHORT_REST_BYTES };

/** Clients choose the header, and it goes to every window. */
const MAX_AGENT_LENGTH = 120;

function callerOf({ socket, headers }: IncomingMessage, identity: Identity): RequestCaller {
  const key = identity.key === null ? null : maskSecret(identity.key);
  return {
    key: identity.control ? 'control session' : key,
    address: peerAddress(socket),
    userAgent: headers['user-agent']?.slice(0, MAX_AGENT_LENGTH) ?? null,
  };
}

function limitOf(
  { maxBodyBytes, maxBodiesInFlightBytes }: Config['gateway'],
  bodies: BodyBudget,
): Limit {
  const largest = bodies.largestBytes(maxBodiesInFlightBytes);
  return largest < maxBodyBytes
    ? { maxBytes: largest, setting: 'MAX_BODIES_IN_FLIGHT_BYTES' }
    : { maxBytes: maxBodyBytes, setting: 'MAX_BODY_BYTES' };
}

const UNDECODABLE: GatewayError = {
  status: 400,
  code: 'invalid_request',
  message: 'The body is not what its "Content-Encoding" says.',
};

const OVERLOADED: GatewayError = {
  status: 503,
  code: 'overloaded',
  message:
    'The gateway has no memory left for request bodies (limit: INGLENOOK_MAX_BODIES_IN_FLIGHT_BYTES). Try again in a moment.',
  retryAfterMs: 1000,
};

function tooMany(limit: number): GatewayError {
  return {
    status: 503,
    code: 'overloaded',
    message: `${limit} requests are running, the limit of INGLENOOK_MAX_CONCURRENT_REQUESTS. Try again in a moment.`,
    retryAfterMs: 2000,
  };
}

interface ReachedLimit {
  readonly key: string;
  readonly of: 'requests' | 'tokens';
  readonly period: 'day' | 'month';
  readonly limit: number;
  /** When it resets, in wall-clock milliseconds. */
  readonly until: number;
}

function limitReached(reached: ReachedLimit, nowMs: number): GatewayError {
  const { key, of, period, limit, until } = reached;
  return {
    status: 429,
    code: 'key_limit_reached',
    message: `The key "${key}" has reached its limit (${of} a ${period}: ${limit}), which resets at ${isoTime(until)}. The gateway's owner can raise it with "${OWN_COMMAND} keys limit ${key}".`,
    retryAfterMs: until - nowMs,
  };
}

/** Clients that retry by themselves must not do so every few seconds until the next day. */
const NO_RETRY = { 'x-should-retry': 'false' };

interface Limit {
  readonly maxBytes: number;
  readonly setting: 'MAX_BODY_BYTES' | 'MAX_BODIES_IN_FLIGHT_BYTES';
}

function tooLarge({ maxBytes, setting }: Limit): GatewayError {
  return {
    status: 413,
    code: 'body_too_large',
    message: `The body is over ${maxBytes} bytes; INGLENOOK_${setting} raises the limit.`,
  };
}
