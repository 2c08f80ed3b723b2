import type { Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { openPage as open, type PageOptions } from './browser.ts';
import { exitOnTerm } from './worker-end.ts';

/** Opens a page that is closed with the test; one browser serves all files of a worker. */
export async function openPage(url: string, options?: PageOptions): Promise<Page> {
  const page = await open(url, options);
  onTestFinished(() => page.context().close());
  return page;
}

// Playwright's handler ends the browser.
exitOnTerm();
