import type { OutgoingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import type { ProviderNotes } from '#shared/provider-notes.ts';
import type { Provider } from '#shared/provider.ts';
import type { Clock } from '../../platform/clock.ts';
import type { GatewayError } from '../http/errors.ts';
import { markProved } from '../../platform/http/guarded-server.ts';
import { NOSNIFF, sendJson } from '../../platform/http/responses.ts';
import { sendError, sendErrorEarly, sendPieces } from '../http/responses.ts';
import { type SmallBodyReader, createSmallBodyReader } from '../http/small-bodies.ts';

/** A message as an agent sent it: the signature covers method, path and body. */
interface AgentMessage {
  readonly method: string;
  readonly path: string;
  readonly headers: Request['headers'];
  readonly body: Buffer;
  readonly ip: string;
}

type Refusal = GatewayError & {
  readonly kind: 'refused';
  readonly headers?: Readonly<Record<string, string>>;
};

type Answer =
  { readonly kind: 'answered'; readonly status: number; readonly body: unknown } | Refusal;

type Query = Readonly<Record<string, unknown>>;

/** The registry, as its routes use it. */
export interface ProvidersApi {
  handleEnroll(message: AgentMessage): Promise<Answer>;
  handleHeartbeat(message: AgentMessage): Promise<Answer>;
  newEnrollment(baseUrl: string): Promise<Answer>;
  list(
    query: Query,
  ):
    | { readonly kind: 'listed'; readonly etag: string; readonly json: () => readonly string[] }
    | Refusal;
  get(id: string): Provider | null;
  history(id: string, query: Query): Promise<Answer>;
  remove(id: string): Promise<Answer>;
  requestVerification(id: string): Answer;
  notes(): ProviderNotes;
  setNote(id: string, body: unknown): Promise<Answer>;
}

interface ProviderDeps {
  readonly providers: ProvidersApi;
  /** Address at which other machines reach this gateway, for the join command. */
  readonly joinUrl: (req: Request) => string;
  readonly clock: Clock;
}

export function providerHandlers({ providers, joinUrl, clock }: ProviderDeps) {
  const bodies = createSmallBodyReader(clock);
  const fromAgent =
    (answer: (message: AgentMessage) => Promise<Answer>) => async (req: Request, res: Response) => {
      const body = await readAgentBody(req, res, { bodies, clock });
      if (body === null) return;
      const given = await answer(messageOf(req, body));
      if (given.kind !== 'refused') markProved(req.socket);
      sendAnswer(res, given);
    };
  return {
    enroll: fromAgent((message) => providers.handleEnroll(message)),
    heartbeat: fromAgent((message) => providers.handleHeartbeat(message)),
    newEnrollment: async (req: Request, res: Response) => {
      sendAnswer(res, await providers.newEnrollment(joinUrl(req)));
    },
    list: (req: Request, res: Response) => sendList(req, res, providers),
    get: (req: Request, res: Response) => {
      const id = idOf(req);
      const provider = providers.get(id);
      if (provider === null) sendError(res, notFound(id));
      else sendJson(res, 200, provider);
    },
    remove: async (req: Request, res: Response) => {
      sendAnswer(res, await providers.remove(idOf(req)));
    },
    verify: (req: Request, res: Response) => {
      sendAnswer(res, providers.requestVerification(idOf(req)));
    },
    notes: (_req: Request, res: Response) => sendJson(res, 200, providers.notes()),
    setNote: async (req: Request, res: Response) => {
      sendAnswer(res, await providers.setNote(idOf(req), req.body));
    },
    history: async (req: Request, res: Response) => {
      sendAnswer(res, await providers.history(idOf(req), req.query));
    },
  };
}

const COMPRESSED: GatewayError = {
  status: 415,
  code: 'unsupported_media_type',
  message: 'An agent sends its body as plain JSON in UTF-8, not compressed.',
};

/** Null if an error was sent, or the agent has disconnected. */
async function readAgentBody(
  req: Request,
  res: Response,
  { bodies, clock }: { readonly bodies: SmallBodyReader; readonly clock: Clock },
): Promise<Buffer | null> {
  if ((req.get('content-encoding') ?? 'identity').toLowerCase() === 'identity') {
    return bodies.read(req, res);
  }
  sendErrorEarly(req, res, COMPRESSED, { headers: {}, clock });
  return null;
}

function messageOf(req: Request, body: Buffer): AgentMessage {
  const [path = ''] = req.url.split('?', 1);
  const { method, headers } = req;
  return { method, path, headers, body, ip: req.socket.remoteAddress ?? '' };
}

function idOf(req: Request): string {
  return String(req.params['id']);
}

function sendAnswer(res: Response, answer: Answer): void {
  if (answer.kind === 'refused') sendError(res, answer, answer.headers);
  else sendJson(res, answer.status, answer.body);
}

async function sendList(req: Request, res: Response, providers: ProvidersApi): Promise<void> {
  const listed = providers.list(req.query);
  if (listed.kind === 'refused') {
    sendAnswer(res, listed);
    return;
  }
  const { etag } = listed;
  const headers: OutgoingHttpHeaders = { etag, 'cache-control': 'no-store', ...NOSNIFF };
  if (isKnown(etag, req.get('if-none-match') ?? '')) {
    res.writeHead(304, headers).end();
    return;
  }
  const type = 'application/json; charset=utf-8';
  await sendPieces(res, 200, listed.json(), { ...headers, 'content-type': type });
}

/** Whether `If-None-Match` names a tag (RFC 9110, 13.1.2, where weak and strong tags compare equal). */
function isKnown(etag: string, ifNoneMatch: string): boolean {
  return ifNoneMatch
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === etag || tag === '*');
}

function notFound(id: string): GatewayError {
  const message = `There is no provider "${id.slice(0, 100)}"; GET /api/v1/providers lists all.`;
  return { status: 404, code: 'provider_not_found', message };
}
