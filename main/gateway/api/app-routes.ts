import type { ServerResponse } from 'node:http';
import type { LiveEvent } from '#shared/live.ts';
import type { StatusReport } from '#shared/status.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { GatewayError } from '../http/errors.ts';
import { sendError, sendJson } from '../http/responses.ts';
import type { LiveFeed } from '../monitoring/live-feed.ts';
import type { LocalChoice } from '../upstream/call.ts';
import { modelList } from '../upstream/engine-probe.ts';
import type { Route } from './routes.ts';

/** What the routes show and do. */
interface AppRoutesDeps {
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
    'This link was used already or is over 10 minutes old; "node scripts/switchyard.mjs open" makes a new one.',
};

/** The gateway's own routes, without chat (docs/http-api.md#routes). */
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

/** A reader that has left this much unread gets a fresh snapshot instead of more deltas. */
const MAX_UNREAD_BYTES = 256 * 1024;
/** Silence longer than this would let proxies and sleeping tabs drop the connection unnoticed. */
const KEEP_ALIVE_MS = 15_000;

/** The headers of the stream. */
const EVENTS_HEAD = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };

/** Streams the live feed as server-sent events until the reader goes away. */
function streamEvents(res: ServerResponse, feed: LiveFeed, clock: Clock): void {
  let overflowed = false;
  let cancelTimer = () => {};
  const send = (event: LiveEvent) => {
    // A stop ends the stream, which a reader that does not read keeps from closing.
    if (overflowed || res.writableEnded) return;
    res.write(`data: ${JSON.stringify(event)}\n\n`);
    overflowed = res.writableLength > MAX_UNREAD_BYTES;
  };
  const keepAlive = () => {
    if (!overflowed && !res.writableEnded) res.write(': still here\n\n');
    cancelTimer = clock.after(KEEP_ALIVE_MS, keepAlive);
  };
  res.writeHead(200, EVENTS_HEAD);
  const unsubscribe = feed.subscribe(send);
  send(feed.snapshot());
  cancelTimer = clock.after(KEEP_ALIVE_MS, keepAlive);
  res.on('drain', () => {
    if (!overflowed) return;
    overflowed = false;
    send(feed.snapshot());
  });
  res.on('close', () => {
    unsubscribe();
    cancelTimer();
  });
}
