import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Config } from '../config.ts';
import { newRequestId } from '../platform/request-id.ts';
import { keyError, type Identity } from './access/auth.ts';
import { readBody } from './request/body.ts';
import { answerChat, NOT_ROUTED } from './chat-answer.ts';
import type { ChatCall } from './request/calls.ts';
import { isBadRequest, parseChatRequest, type ChatRequest } from './request/chat-request.ts';
import type { GatewayError } from './surface/errors.ts';
import type { RequestLogs } from './watch/request-log.ts';
import type { Prefills } from './resume/prefills.ts';
import { sendError, sendErrorEarly } from './surface/respond.ts';
import { route, type Journey, type RouterDeps } from './router.ts';
import type { RemoteUpstream } from './request/upstreams.ts';

/** What the chat endpoint needs. */
export interface ChatDeps extends RouterDeps {
  readonly prefills: Prefills;
  readonly config: () => Config;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly logs: RequestLogs;
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
  const log = deps.logs.begin({ id, model: request.model, stream: request.stream });
  const call: ChatCall = {
    request,
    headers: req.headers,
    authorization: caller.identity.authorization,
    zeroSpend: config.routing.forceZero || req.headers['x-gateway-force-zero'] === '1',
  };
  deps.budget.requested();
  const { signal } = abort;
  const journey: Journey = { call, ...taken, log, signal, cause: 'turn', onContent };
  const routed = await route(journey, deps);
  // Returned, not awaited: what routing needed need not live as long as the answer.
  return answerChat(routed, res, { base, journey, deps });
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
