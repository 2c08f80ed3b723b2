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
  isBadRequest,
  parseChatRequest,
  parseInTurns,
} from '../upstream/chat-request.ts';
import type { ApiEndpoint } from '../upstream/endpoint.ts';
import { MAX_BYTES_AT_ONCE } from '../upstream/json-members.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';
import { answerChat, NOT_ROUTED } from './respond.ts';
import type { Prefills } from './resume/prefills.ts';

/** What the chat endpoint needs. */
export interface ChatDeps extends RouterDeps {
  readonly prefills: Prefills;
  readonly bodies: BodyBudget;
  readonly config: () => Config;
  readonly remotes: () => readonly RemoteUpstream[];
  /** Reports a request from here to its end. */
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

/** Answers one chat completion; resolves when the answer is out or the caller is gone. */
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
    if (isNearlyHere(req, read)) sendError(res, read.error, headers);
    else sendErrorEarly(req, res, read.error, { headers, clock: deps.clock, ...read.rest });
    return;
  }
  const { request } = read;
  const abort = new AbortController();
  res.on('close', () => {
    if (!res.writableFinished) abort.abort();
  });
  // Taken up together, once the body is here: a change of settings meets the next request whole.
  const config = deps.config();
  const taken = { config, remotes: deps.remotes(), epoch: deps.circuits.epoch() };
  const observer = deps.observe({ id, model: request.model, stream: request.stream });
  const attempts = new RequestAttempts(observer, deps);
  const call: ChatCall = {
    request,
    headers: req.headers,
    authorization: caller.identity.authorization,
    zeroSpend: config.routing.forceZero || req.headers['x-gateway-force-zero'] === '1',
  };
  deps.budget.requested();
  const { signal } = abort;
  const context: RequestContext = {
    call,
    ...taken,
    observer,
    attempts,
    signal,
    cause: 'turn',
    onContent,
  };
  const routed = await route(context, deps);
  // Returned, not awaited: what routing needed need not live as long as the answer.
  return answerChat(routed, res, { base, context, deps });
}

/** A lone call has nobody beside it to be ended. */
function onContent(): void {}

/** Whether the rest of a refused body is so little that the connection may live on. */
function isNearlyHere(req: IncomingMessage, { error }: { readonly error: GatewayError }): boolean {
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
  if (!identity.reader) return { kind: 'refused', error: keyError(req.headers), rest: LEFT };
  const type = req.headers['content-type'] ?? '';
  const coding = req.headers['content-encoding'] ?? 'identity';
  if (!/^application\/json\s*(;|$)/i.test(type) || coding !== 'identity') {
    return { kind: 'refused', error: UNSUPPORTED_MEDIA };
  }
  const body = await readBody(req, { maxBytes: limit.maxBytes, share });
  if (body.kind === 'aborted') return body;
  if (body.kind === 'too_large') return { kind: 'refused', error: tooLarge(limit) };
  if (body.kind !== 'body') return { kind: 'refused', error: OVERLOADED, rest: LEFT };
  const { bytes } = body;
  const isLarge = bytes.length > MAX_BYTES_AT_ONCE;
  const parsed = isLarge ? await parseInTurns(bytes, endpoint) : parseChatRequest(bytes, endpoint);
  // Nobody heard of it in those turns.
  if (req.socket.destroyed) return { kind: 'aborted' };
  if (!isBadRequest(parsed)) return { kind: 'request', request: parsed };
  return { kind: 'refused', error: { status: 400, code: 'invalid_request', ...parsed } };
}

const UNSUPPORTED_MEDIA: GatewayError = {
  status: 415,
  code: 'unsupported_media_type',
  message: 'The body must be JSON, uncompressed: send "Content-Type: application/json".',
};

const MAX_REST_BYTES = 64 * 1024;
/** What came without a key, or for what there is no room, is not read to its end. */
const LEFT: RestOfBody = { maxRestBytes: MAX_REST_BYTES };

const OVERLOADED: GatewayError = {
  status: 503,
  code: 'overloaded',
  message:
    'The requests in flight hold as many bytes as SWITCHYARD_MAX_BODIES_IN_FLIGHT_BYTES allows; try again in a moment.',
  retryAfterMs: 1000,
};

/** How large a body may be, and the setting that says so. */
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
