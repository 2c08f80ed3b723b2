import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Config } from '../../config/schema.ts';
import type { BodyBudget, BodyShare } from '../../platform/body-budget.ts';
import { readBody } from '../../platform/http/server.ts';
import { newRequestId } from '../../platform/secrets.ts';
import { type Identity, keyError } from '../auth/identity.ts';
import type { GatewayError } from '../http/errors.ts';
import { type RestOfBody, sendError, sendErrorEarly } from '../http/responses.ts';
import { RequestAttempts } from '../routing/attempts.ts';
import type { RequestObserver } from '../routing/observer.ts';
import { type RequestContext, route, type RouterDeps } from '../routing/router.ts';
import type { ChatCall } from '../upstream/call.ts';
import {
  type ChatRequest,
  formRequest,
  isBadRequest,
  parseChatRequest,
  parseInTurns,
} from '../upstream/chat-request.ts';
import type { ApiEndpoint } from '../upstream/endpoint.ts';
import { MAX_BYTES_AT_ONCE } from '../upstream/json-members.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';
import { answerChat, NOT_ROUTED } from './respond.ts';
import type { Prefills } from './resume/prefills.ts';

export interface ChatDeps extends RouterDeps {
  readonly prefills: Prefills;
  readonly bodies: BodyBudget;
  readonly config: () => Config;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly observe: (about: {
    readonly id: string;
    readonly model: string | null;
    readonly stream: boolean;
  }) => RequestObserver;
}

interface Caller {
  readonly endpoint: ApiEndpoint;
  readonly identity: Identity;
  readonly cors: OutgoingHttpHeaders;
}

/** Answers a request to an endpoint; resolves when the answer is sent or the caller is gone. */
export function handleChat(
  req: IncomingMessage,
  res: ServerResponse,
  caller: Caller,
  deps: ChatDeps,
): Promise<void> {
  const share = deps.bodies.share();
  return answer(req, res, { ...caller, share }, deps).finally(() => share.giveBack());
}

async function answer(
  req: IncomingMessage,
  res: ServerResponse,
  caller: Caller & { readonly share: BodyShare },
  deps: ChatDeps,
): Promise<void> {
  const id = newRequestId();
  const base = { ...caller.cors, 'x-gateway-request-id': id };
  const read = await readRequest(req, { ...caller, limit: limitOf(deps) });
  if (read.kind === 'aborted') return;
  if (read.kind === 'refused') {
    const headers = { ...base, ...NOT_ROUTED };
    if (isRestShort(req, read)) sendError(res, read.error, headers);
    else sendErrorEarly(req, res, read.error, { headers, clock: deps.clock, ...read.rest });
    return;
  }
  const abort = new AbortController();
  res.on('close', () => {
    if (!res.writableFinished) abort.abort();
  });
  const { authorization } = caller.identity;
  const accepted = { id, request: read.request, headers: req.headers, authorization };
  const context = contextOf(accepted, abort.signal, deps);
  deps.budget.requested();
  const routed = await route(context, deps);
  // Returned, not awaited: this function's variables need not live as long as the answer.
  return answerChat(routed, res, { base, context, deps });
}

function contextOf(
  accepted: Omit<ChatCall, 'zeroSpend'> & { readonly id: string },
  signal: AbortSignal,
  deps: ChatDeps,
): RequestContext {
  const { id, request, headers, authorization } = accepted;
  // Read together, after the body: a change of settings applies to whole requests.
  const config = deps.config();
  const snapshot = { config, remotes: deps.remotes(), epoch: deps.circuits.epoch() };
  const zeroSpend = config.routing.forceZero || headers['x-gateway-force-zero'] === '1';
  const observer = deps.observe({ id, model: request.model, stream: request.stream });
  return {
    call: { request, headers, authorization, zeroSpend },
    ...snapshot,
    observer,
    attempts: new RequestAttempts(observer, deps),
    signal,
    cause: 'turn',
    onContent: ignoreContent,
  };
}

/** Only a hedged call has another one to abort. */
function ignoreContent(): void {}

/** Whether the rest of a refused body is short enough to be read, which keeps the connection. */
function isRestShort(req: IncomingMessage, { error }: { readonly error: GatewayError }): boolean {
  const { 'content-length': length = 0, 'transfer-encoding': coding } = req.headers;
  const isShort = coding === undefined && Number(length) <= MAX_REST_BYTES;
  return req.complete || (error.status !== 413 && isShort);
}

type RequestRead =
  | { readonly kind: 'request'; readonly request: ChatRequest }
  | { readonly kind: 'refused'; readonly error: GatewayError; readonly rest?: RestOfBody }
  | { readonly kind: 'aborted' };

async function readRequest(
  req: IncomingMessage,
  {
    endpoint,
    identity,
    share,
    limit,
  }: Omit<Caller, 'cors'> & { readonly share: BodyShare; readonly limit: Limit },
): Promise<RequestRead> {
  if (!identity.reader) return { kind: 'refused', error: keyError(req.headers), rest: SHORT_REST };
  const type = req.headers['content-type'] ?? '';
  const coding = req.headers['content-encoding'] ?? 'identity';
  if (!BODY_TYPES[endpoint.body].test(type) || coding !== 'identity') {
    return { kind: 'refused', error: UNSUPPORTED_MEDIA[endpoint.body] };
  }
  const body = await readBody(req, { maxBytes: limit.maxBytes, share });
  if (body.kind === 'aborted') return body;
  if (body.kind === 'too_large') return { kind: 'refused', error: tooLarge(limit) };
  if (body.kind !== 'body') return { kind: 'refused', error: OVERLOADED, rest: SHORT_REST };
  const { bytes } = body;
  if (endpoint.body === 'multipart') {
    return { kind: 'request', request: formRequest(bytes, endpoint, type) };
  }
  const isLarge = bytes.length > MAX_BYTES_AT_ONCE;
  const parsed = isLarge ? await parseInTurns(bytes, endpoint) : parseChatRequest(bytes, endpoint);
  // The close of the socket has no listener yet, and may have come during those turns.
  if (req.socket.destroyed) return { kind: 'aborted' };
  if (!isBadRequest(parsed)) return { kind: 'request', request: parsed };
  return { kind: 'refused', error: { status: 400, code: 'invalid_request', ...parsed } };
}

const BODY_TYPES = {
  json: /^application\/json\s*(;|$)/i,
  multipart: /^multipart\/form-data\s*;.*\bboundary=/i,
} as const;

const NO_MEDIA = { status: 415, code: 'unsupported_media_type' } as const;

const UNSUPPORTED_MEDIA: Readonly<Record<ApiEndpoint['body'], GatewayError>> = {
  json: {
    ...NO_MEDIA,
    message: 'The body must be JSON, uncompressed: send "Content-Type: application/json".',
  },
  multipart: {
    ...NO_MEDIA,
    message: 'The body must be a form, uncompressed: send "Content-Type: multipart/form-data".',
  },
};

const MAX_REST_BYTES = 64 * 1024;
/** For bodies without a valid key, and for those that there is no memory for. */
const SHORT_REST: RestOfBody = { maxRestBytes: MAX_REST_BYTES };

const OVERLOADED: GatewayError = {
  status: 503,
  code: 'overloaded',
  message:
    'The requests in flight hold as many bytes as SWITCHYARD_MAX_BODIES_IN_FLIGHT_BYTES allows; try again in a moment.',
  retryAfterMs: 1000,
};

/** The limit of a body and the setting that it comes from. */
interface Limit {
  readonly maxBytes: number;
  readonly setting: 'MAX_BODY_BYTES' | 'MAX_BODIES_IN_FLIGHT_BYTES';
}

function limitOf({ config, bodies }: ChatDeps): Limit {
  const { maxBodyBytes } = config().gateway;
  const largest = bodies.largestBytes();
  return largest < maxBodyBytes
    ? { maxBytes: largest, setting: 'MAX_BODIES_IN_FLIGHT_BYTES' }
    : { maxBytes: maxBodyBytes, setting: 'MAX_BODY_BYTES' };
}

function tooLarge({ maxBytes, setting }: Limit): GatewayError {
  return {
    status: 413,
    code: 'body_too_large',
    message: `The body is over ${maxBytes} bytes; SWITCHYARD_${setting} raises the limit.`,
  };
}
