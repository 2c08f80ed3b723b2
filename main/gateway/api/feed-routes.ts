import type { ServerResponse } from 'node:http';
import { FEED_SIGN_MS, type LiveEvent } from '#shared/live.ts';
import type { Clock } from '../../platform/clock.ts';
import { STREAM_HEAD } from '../../platform/http/responses.ts';
import { answered, route, type Route } from '../../platform/http/routes.ts';
import { type Identify, type Identity, isGuest } from '../auth/keys.ts';
import type { Monitor } from '../monitoring/monitor.ts';
import type { Checker } from '../routing/checker.ts';
import { eventWithoutWords } from '../usage/queries.ts';

interface FeedDeps extends Pick<Monitor, 'feed'> {
  readonly clock: Clock;
  readonly identify: Identify;
  readonly checker: Pick<Checker, 'look'>;
  readonly endAtStop: (stream: ServerResponse) => void;
}

/** What the window shows, as it changes. */
export function feedRoutes(deps: FeedDeps): readonly Route[] {
  const { feed, clock, identify, checker, endAtStop } = deps;
  return [
    {
      method: 'GET',
      paths: ['/api/v1/events'],
      access: 'callers',
      handle(req, res) {
        if (req.method === 'HEAD') {
          res.writeHead(200, EVENTS_HEAD).end();
          return;
        }
        streamEvents(res, { feed, clock, identity: () => identify(req.headers) });
        endAtStop(res);
      },
    },
    route('GET', '/api/v1/snapshot', 'callers', async ({ headers }) => {
      await checker.look();
      return answered(eventFor(identify(headers), feed.snapshot()));
    }),
  ];
}

/** A reader that has not read this much gets a new snapshot instead of further deltas. */
const MAX_UNREAD_BYTES = 256 * 1024;

const EVENTS_HEAD = { 'content-type': 'text/event-stream', ...STREAM_HEAD };

interface EventSource extends Pick<FeedDeps, 'feed' | 'clock'> {
  /** No reader any more once the key is revoked, or where a first key was made after one came without. */
  readonly identity: () => Identity;
}

const eventFor = (identity: Identity, event: LiveEvent): LiveEvent =>
  isGuest(identity) ? eventWithoutWords(event) : event;

function streamEvents(res: ServerResponse, { feed, clock, identity }: EventSource): void {
  let overflowed = false;
  let cancelTimer = () => {};
  const hasEnded = ({ reader }: Identity): boolean => {
    if (!res.writableEnded && !reader) res.end();
    return res.writableEnded;
  };
  const send = (event: LiveEvent) => {
    // The gateway is stopping and has ended the stream, which closes only once the reader has read the rest.
    if (overflowed) return;
    const to = identity();
    if (hasEnded(to)) return;
    res.write(`data: ${JSON.stringify(eventFor(to, event))}\n\n`);
    overflowed = res.writableLength > MAX_UNREAD_BYTES;
  };
  const giveSign = () => {
    if (!hasEnded(identity()) && !overflowed) res.write(': still here\n\n');
    cancelTimer = clock.after(FEED_SIGN_MS, giveSign);
  };
  res.writeHead(200, EVENTS_HEAD);
  const unsubscribe = feed.subscribe(send);
  send(feed.snapshot());
  cancelTimer = clock.after(FEED_SIGN_MS, giveSign);
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
