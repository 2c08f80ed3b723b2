import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Config } from '../../config/schema.ts';
import { readBody } from '../../platform/http/server.ts';
import { newRequestId } from '../../platform/secrets.ts';
import { type Identity, keyError } from '../auth/identity.ts';
import type { GatewayError } from '../http/errors.ts';
import { sendError, sendErrorEarly } from '../http/responses.ts';
import { RequestAttempts } from '../routing/attempts.ts';
import type { RequestObserver } from '../routing/observer.ts';
import { type RequestContext, route, type RouterDeps } from '../routing/router.ts';
import type { ChatCall } from '../upstream/call.ts';
import { type ChatRequest, isBadRequest, parseChatRequest } from '../upstream/chat-request.ts';
import type { RemoteUpstream } from '../upstream/upstreams.ts';
import { answerChat, NOT_ROUTED } from './respond.ts';

/** What the chat endpoint needs. */
export interface ChatDeps extends RouterDeps {
  readonly config: () => Config;
  readonly remotes: () => readonly RemoteUpstream[];
  /** Reports a request from here to its end. */
  readonly observe: (about: {
    readonly id: string;
    readonly model: string | null;
    readonly stream: boolean;
  }) => RequestObserver;
}

/** Paths of the chat endpoint (design 3). */
export const CHAT_PATHS: ReadonlySet<string> = new Set([
  '/api/v1/chat/completions',
  '/v1/chat/completions',
]);

/** Answers one chat completion; resolves when the answer is out or the caller is gone. */
export async function handleChat(
  req: IncomingMessage,
  res: ServerResponse,
  caller: { readonly identity: Identity; readonly cors: OutgoingHttpHeaders },
  deps: ChatDeps,
): Promise<void> {
  const id = newRequestId();
  const base = { ...caller.cors, 'x-gateway-request-id': id };
  const read = await readRequest(req, caller.identity, deps.config());
  if (read.kind === 'aborted') return;
  if (read.kind === 'refused') {
    const headers = { ...base, ...NOT_ROUTED };
    if (read.error.status !== 413) sendError(res, read.error, headers);
    else sendErrorEarly(req, res, read.error, { headers, clock: deps.clock });
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

type RequestRead =
  | { readonly kind: 'request'; readonly request: ChatRequest }
  | { readonly kind: 'refused'; readonly error: GatewayError }
  | { readonly kind: 'aborted' };

async function readRequest(
  req: IncomingMessage,
  identity: Identity,
  { gateway }: Config,
): Promise<RequestRead> {
  if (!identity.reader) return { kind: 'refused', error: keyError(req.headers) };
  const type = req.headers['content-type'] ?? '';
  const coding = req.headers['content-encoding'] ?? 'identity';
  if (!/^application\/json\s*(;|$)/i.test(type) || coding !== 'identity') {
    return { kind: 'refused', error: UNSUPPORTED_MEDIA };
  }
  const body = await readBody(req, gateway.maxBodyBytes);
  if (body.kind === 'aborted') return body;
  if (body.kind === 'too_large') return { kind: 'refused', error: tooLarge(gateway.maxBodyBytes) };
  const parsed = parseChatRequest(body.bytes);
  if (!isBadRequest(parsed)) return { kind: 'request', request: parsed };
  return { kind: 'refused', error: { status: 400, code: 'invalid_request', ...parsed } };
}

const UNSUPPORTED_MEDIA: GatewayError = {
  status: 415,
  code: 'unsupported_media_type',
  message: 'The body must be JSON, uncompressed: send "Content-Type: application/json".',
};

/** What a body over the limit is told. */
export function tooLarge(maxBytes: number): GatewayError {
  return {
    status: 413,
    code: 'body_too_large',
    message: `The body is over ${maxBytes} bytes; SWITCHYARD_MAX_BODY_BYTES raises the limit.`,
  };
}
