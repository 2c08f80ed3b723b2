import type { ServerResponse } from 'node:http';
import type { LiveEvent } from '#shared/live.ts';
import type { Clock } from '../../platform/clock.ts';
import type { LiveFeed } from '../watch/live.ts';

/** A reader that has left this much unread gets a fresh snapshot instead of more deltas. */
const MAX_UNREAD_BYTES = 256 * 1024;
/** Silence longer than this would let proxies and sleeping tabs drop the connection unnoticed. */
const KEEP_ALIVE_MS = 15_000;

/** The headers of the stream. */
export const EVENTS_HEAD = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };

/** Streams the live feed as server-sent events until the reader goes away. */
export function streamEvents(res: ServerResponse, feed: LiveFeed, clock: Clock): void {
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
