import type { OutgoingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import type { Clock } from '../../platform/clock.ts';
import { markProved } from '../../platform/http/guarded-server.ts';
import { NOSNIFF, sendJson } from '../../platform/http/responses.ts';
import type { PiecesAnswer, Route, RouteAnswer } from '../../platform/http/routes.ts';
import type { GatewayError } from '../http/errors.ts';
import { sendError, sendErrorEarly, sendPieces } from '../http/responses.ts';
import type { SmallBodyReader } from '../http/small-bodies.ts';

interface AnsweringDeps {
  readonly clock: Clock;
  /** Address at which other machines reach this gateway. */
  readonly gatewayUrl: (req: Request) => string;
}

const NO_BODY = Buffer.alloc(0);

/** A handler for each route: one that returns its answer is asked for it, and the answer sent. */
export function createHandlers(bodies: SmallBodyReader, { clock, gatewayUrl }: AnsweringDeps) {
  return (route: Route) => {
    if ('handle' in route) return route.handle;
    const { access, answer } = route;
    return async (req: Request, res: Response): Promise<void> => {
      const isAgent = access === 'agents';
      const body = isAgent ? await readAgentBody(req, res, { bodies, clock }) : NO_BODY;
      if (body === null) return;
      const { method, headers, query } = req;
      const given = await answer({
        method,
        path: req.url.split('?', 1)[0] ?? '',
        headers,
        params: req.params as Readonly<Record<string, string>>,
        query,
        json: req.body,
        body,
        ip: req.socket.remoteAddress ?? '',
        get gatewayUrl() {
          return gatewayUrl(req);
        },
      });
      if (isAgent && given.kind !== 'refused') markProved(req.socket);
      await send(req, res, given);
    };
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

async function send(req: Request, res: Response, answer: RouteAnswer): Promise<void> {
  if (answer.kind === 'refused') sendError(res, answer, answer.headers);
  else if (answer.kind === 'answered') sendJson(res, answer.status, answer.body);
  else await sendTagged(req, res, answer);
}

async function sendTagged(req: Request, res: Response, { etag, json }: PiecesAnswer) {
  const headers: OutgoingHttpHeaders = { etag, 'cache-control': 'no-store', ...NOSNIFF };
  if (isKnown(etag, req.get('if-none-match') ?? '')) {
    res.writeHead(304, headers).end();
    return;
  }
  const type = 'application/json; charset=utf-8';
  await sendPieces(res, 200, json(), { ...headers, 'content-type': type });
}

/** Whether `If-None-Match` names a tag (RFC 9110, 13.1.2, where weak and strong tags compare equal). */
function isKnown(etag: string, ifNoneMatch: string): boolean {
  return ifNoneMatch
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === etag || tag === '*');
}
