import type { ServerResponse } from 'node:http';
import type { StatusReport } from '#shared/status.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Config } from '../../config.ts';
import type { LocalChoice } from '../request/calls.ts';
import type { GatewayError } from './errors.ts';
import { EVENTS_HEAD, streamEvents } from './events.ts';
import type { LiveFeed } from '../watch/live.ts';
import { modelList } from '../watch/models.ts';
import { sendError, sendJson } from './respond.ts';
import type { Route } from './routes.ts';
import type { Sessions } from '../access/sessions.ts';

/** What the routes show and do. */
export interface AppRoutesDeps {
  readonly clock: Clock;
  readonly config: () => Config;
  readonly pickLocal: () => LocalChoice;
  readonly status: (forceZeroHeader: string) => StatusReport;
  readonly feed: LiveFeed;
  readonly sessions: Sessions;
  readonly controlLink: () => string;
  readonly endAtStop: (stream: ServerResponse) => void;
}

const BAD_CODE: GatewayError = {
  status: 401,
  code: 'invalid_code',
  message:
    'This link was used already or is over 10 minutes old; "npx switchyard open" makes a new one.',
};

/** The gateway's own routes but for chat (design 3). */
export function appRoutes(deps: AppRoutesDeps): Route[] {
  const { clock, config, pickLocal, status, feed, sessions } = deps;
  return [
    {
      method: 'GET',
      paths: ['/api/v1/models', '/v1/models'],
      who: 'readers',
      handle: (_req, res) => sendJson(res, 200, modelList(config(), pickLocal())),
    },
    {
      method: 'GET',
      paths: ['/api/v1/status'],
      who: 'readers',
      handle: (req, res) => sendJson(res, 200, status(req.get('x-gateway-force-zero') ?? '0')),
    },
    {
      method: 'GET',
      paths: ['/api/v1/events'],
      who: 'readers',
      handle(req, res) {
        if (req.method === 'HEAD') {
          res.writeHead(200, EVENTS_HEAD).end();
          return;
        }
        streamEvents(res, feed, clock);
        deps.endAtStop(res);
      },
    },
    {
      method: 'POST',
      paths: ['/api/v1/sessions'],
      who: 'anyone',
      handle(req, res) {
        const body = req.body as { readonly code?: unknown } | undefined;
        const token = typeof body?.code === 'string' ? sessions.redeem(body.code) : null;
        if (token === null) sendError(res, BAD_CODE);
        else sendJson(res, 200, { token });
      },
    },
    {
      method: 'POST',
      paths: ['/api/v1/sessions/codes'],
      who: 'control',
      handle: (_req, res) => sendJson(res, 200, { link: deps.controlLink() }),
    },
    {
      method: 'GET',
      paths: ['/healthz'],
      who: 'anyone',
      handle: (_req, res) => sendJson(res, 200, { status: 'ok' }),
    },
    {
      method: 'GET',
      paths: ['/readyz'],
      who: 'anyone',
      handle(_req, res) {
        const { ok } = status('0');
        sendJson(res, ok ? 200 : 503, { status: ok ? 'ready' : 'no upstream can serve now' });
      },
    },
  ];
}
