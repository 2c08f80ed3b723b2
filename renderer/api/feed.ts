import { FEED_SIGN_MS, type LiveEvent } from '#shared/live.ts';
import { parseVisible } from '#shared/visible.ts';
import type { Client } from './client.ts';
import { readEvents } from './sse.ts';

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;
/** Three missing signs of life mean a dead connection. */
const SILENCE_MS = 3 * FEED_SIGN_MS;

type FeedEnd = 'locked' | 'ended';

interface FeedListener {
  onEvent: (event: LiveEvent) => void;
  onLost: () => void;
  /** The gateway requires a key that the page does not have. */
  onLocked: () => void;
}

/** `wait` ends early when the user asks to retry now. */
interface FeedEdges {
  readonly client: Pick<Client, 'request'>;
  readonly wait: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Pause in milliseconds before reconnection number `failures`, counted from 1. */
export const reconnectDelay = (failures: number): number =>
  Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS);

/** Follows the event feed until the signal aborts, and reconnects with growing pauses. */
export async function followFeed(edges: FeedEdges, listener: FeedListener): Promise<void> {
  let failures = 0;
  while (!edges.signal.aborted) {
    const end = await readOnce(edges, (event) => {
      failures = 0;
      listener.onEvent(event);
    });
    if (edges.signal.aborted) return;
    failures += 1;
    if (end === 'locked') listener.onLocked();
    else listener.onLost();
    await edges.wait(end === 'locked' ? LONGEST_WAIT_MS : reconnectDelay(failures));
  }
}

async function readOnce(
  { client, signal }: FeedEdges,
  onEvent: (event: LiveEvent) => void,
): Promise<FeedEnd> {
  const attempt = new AbortController();
  const stop = AbortSignal.any([signal, attempt.signal]);
  let watchdog = setTimeout(() => attempt.abort(), SILENCE_MS);
  try {
    const response = await client.request('/api/v1/events', {
      headers: { Accept: 'text/event-stream' },
      signal: stop,
    });
    if (response.status === 401) return 'locked';
    if (!response.ok || !response.body) return 'ended';
    const onData = (data: string) => onEvent(parseVisible(data) as LiveEvent);
    await readEvents(response.body, onData, () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => attempt.abort(), SILENCE_MS);
    });
    return 'ended';
  } catch {
    return 'ended';
  } finally {
    clearTimeout(watchdog);
    // Also aborts a response that was not read to its end, for example because of an unreadable event.
    attempt.abort();
  }
}
