import type { OutgoingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import type { Provider } from '#shared/provider.ts';
import type { Clock } from '../../platform/clock.ts';
import type { GatewayError } from '../http/errors.ts';
import { sendError, sendErrorEarly, sendJson, sendPieces } from '../http/responses.ts';
import { type SmallBodyReader, createSmallBodyReader } from '../http/small-bodies.ts';
import type { Route } from './routes.ts';

/** A message as an agent sent it: the signature covers method, path and body. */
interface AgentMessage {
  readonly method: string;
  readonly path: string;
  readonly headers: Request['headers'];
  readonly body: Buffer;
  readonly ip: string;
}

/** An error that comes with headers of its own. */
type Refusal = GatewayError & {
  readonly kind: 'refused';
  readonly headers?: Readonly<Record<string, string>>;
};

type Answer =
  { readonly kind: 'answered'; readonly status: number; readonly body: unknown } | Refusal;

type Query = Readonly<Record<string, unknown>>;

/** What the routes need of the registry. */
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
}

/** What the routes are given. */
export interface ProviderRoutesDeps {
  readonly providers: ProvidersApi;
  /** Where another machine reaches this gateway, for the line that joins it. */
  readonly joinUrl: () => string;
  readonly clock: Clock;
}

/** Routes of the registry: the fixed paths come before those with an id. */
export function providerRoutes({ providers, joinUrl, clock }: ProviderRoutesDeps): Route[] {
  const arrivals = createSmallBodyReader(clock);
  const fromAgent =
    (answer: (message: AgentMessage) => Promise<Answer>): Route['handle'] =>
    async (req, res) => {
      const body = await readAgentBody(req, res, { arrivals, clock });
      if (body !== null) sendAnswer(res, await answer(messageOf(req, body)));
    };
  return [
    {
      method: 'POST',
      paths: ['/api/v1/providers/enroll'],
      who: 'agents',
      handle: fromAgent((message) => providers.handleEnroll(message)),
    },
    {
      method: 'POST',
      paths: ['/api/v1/providers/heartbeat'],
      who: 'agents',
      handle: fromAgent((message) => providers.handleHeartbeat(message)),
    },
    {
      method: 'POST',
      paths: ['/api/v1/providers/enrollments'],
      who: 'control',
      handle: async (_req, res) => sendAnswer(res, await providers.newEnrollment(joinUrl())),
    },
    {
      method: 'GET',
      paths: ['/api/v1/providers'],
      who: 'readers',
      handle: (req, res) => sendList(req, res, providers),
    },
    {
      method: 'GET',
      paths: ['/api/v1/providers/:id'],
      who: 'readers',
      handle(req, res) {
        const id = idOf(req);
        const provider = providers.get(id);
        if (provider === null) sendError(res, notFound(id));
        else sendJson(res, 200, provider);
      },
    },
    {
      method: 'DELETE',
      paths: ['/api/v1/providers/:id'],
      who: 'control',
      handle: async (req, res) => sendAnswer(res, await providers.remove(idOf(req))),
    },
    {
      method: 'POST',
      paths: ['/api/v1/providers/:id/verify'],
      who: 'control',
      handle: (req, res) => sendAnswer(res, providers.requestVerification(idOf(req))),
    },
    {
      method: 'GET',
      paths: ['/api/v1/providers/:id/history'],
      who: 'readers',
      handle: async (req, res) => sendAnswer(res, await providers.history(idOf(req), req.query)),
    },
  ];
}

const COMPRESSED: GatewayError = {
  status: 415,
  code: 'unsupported_media_type',
  message: 'An agent sends its body as plain JSON in UTF-8, not compressed.',
};

/** The bytes of a body, or null when the agent was told why they are not taken, or has gone. */
async function readAgentBody(
  req: Request,
  res: Response,
  { arrivals, clock }: { readonly arrivals: SmallBodyReader; readonly clock: Clock },
): Promise<Buffer | null> {
  if ((req.get('content-encoding') ?? 'identity').toLowerCase() === 'identity') {
    return arrivals.read(req, res);
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
  const headers: OutgoingHttpHeaders = { etag, 'cache-control': 'no-store' };
  if (isKnown(etag, req.get('if-none-match') ?? '')) {
    res.writeHead(304, headers).end();
    return;
  }
  const type = 'application/json; charset=utf-8';
  await sendPieces(res, 200, listed.json(), { ...headers, 'content-type': type });
}

/** Whether `If-None-Match` names a tag (RFC 9110, 13.1.2); weak or strong is the same there. */
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
