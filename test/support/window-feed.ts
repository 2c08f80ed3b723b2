import { createServer } from 'node:http';
import express from 'express';
import type { Page } from 'playwright-core';
import type { LiveSnapshot } from '#shared/live.ts';
import { WINDOW_DIRECTORY } from '../../main/app/app.ts';
import { openPage, type PageOptions } from './browser.ts';
import { listening } from './listening.ts';

/** The built window over a feed that says one thing and stays open; it only reads. */
export async function openWindow(
  snapshot: LiveSnapshot,
  hash: string,
  options: PageOptions = {},
): Promise<Page> {
  const app = express();
  app.get('/api/v1/events', (_req, res) => {
    res.type('text/event-stream').write(`data: ${JSON.stringify(snapshot)}\n\n`);
  });
  app.use(express.static(WINDOW_DIRECTORY));
  const port = await listening(createServer(app));
  return openPage(`http://127.0.0.1:${port}/${hash}`, options);
}
