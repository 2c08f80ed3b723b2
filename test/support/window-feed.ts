import { createServer } from 'node:http';
import express, { type Response } from 'express';
import type { Page } from 'playwright-core';
import type { LiveDelta, LiveSnapshot } from '#shared/live.ts';
import { WINDOW_DIRECTORY } from '../../main/app/app.ts';
import { listening } from './listening.ts';
import { openPage, type TestPageOptions } from './page.ts';

/** The built window over a feed that says one thing and stays open; it only reads. */
export async function openWindow(snapshot: LiveSnapshot, hash: string): Promise<Page> {
  return (await openFedWindow(snapshot, hash)).page;
}

/** The same, and what is said on the feed later. */
export async function openFedWindow(
  snapshot: LiveSnapshot,
  hash: string,
  options: TestPageOptions = {},
): Promise<{ readonly page: Page; readonly say: (delta: LiveDelta) => void }> {
  const readers = new Set<Response>();
  const app = express();
  app.get('/api/v1/events', (_req, res) => {
    res.type('text/event-stream').write(`data: ${JSON.stringify(snapshot)}\n\n`);
    readers.add(res);
  });
  app.use(express.static(WINDOW_DIRECTORY));
  const port = await listening(createServer(app));
  const page = await openPage(`http://127.0.0.1:${port}/${hash}`, options);
  return {
    page,
    say(delta) {
      for (const reader of readers) reader.write(`data: ${JSON.stringify(delta)}\n\n`);
    },
  };
}
