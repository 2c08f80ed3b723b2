import type { CDPSession, Page } from 'playwright-core';
import { onTestFinished, type RunnerTestCase } from 'vitest';
import { newPage, type PageOptions, show } from './browser.ts';
import { exitOnTerm } from './worker-end.ts';

/** A page in a profile of its own, and what was shown in it. */
interface Tab {
  readonly page: Page;
  readonly session: CDPSession;
  readonly origins: Set<string>;
}

/** Pages that no test uses. A page that shows another gateway in its place costs half of a new one. */
const free: Tab[] = [];

export interface TestPageOptions extends PageOptions {
  /** For a test that does to its page what cannot be undone, or that measures it. */
  readonly isOwn?: boolean;
}

/**
 * Opens a page that only this test uses meanwhile. It may be one of an earlier test, but never of the same origin,
 * so nothing is in its storage.
 */
export async function openPage(url: string, options: TestPageOptions = {}): Promise<Page> {
  const { origin } = new URL(url);
  const at = options.isOwn === true ? -1 : free.findIndex(({ origins }) => !origins.has(origin));
  const [found] = at < 0 ? [] : free.splice(at, 1);
  const tab = found ?? (await newTab());
  const { page, session } = tab;
  onTestFinished(async ({ task }) => {
    if (options.isOwn === true || !(await isFreed(tab, task))) await page.context().close();
    else free.push(tab);
  });
  await session.send('Emulation.setScriptExecutionDisabled', { value: false });
  await show(page, url, options);
  await session.send('Page.resetNavigationHistory');
  return page;
}

/** Goes to a page of the dashboard, as a link there does. */
export const turnTo = (page: Page, hash: string): Promise<void> =>
  page.evaluate((to) => void (location.hash = to), hash);

async function newTab(): Promise<Tab> {
  const page = await newPage();
  const origins = new Set<string>();
  page.on('framenavigated', (frame) => origins.add(new URL(frame.url()).origin));
  return { page, session: await page.context().newCDPSession(page), origins };
}

/** Leaves a page as a new one but for what it shows, which runs no more; false where that fails. */
async function isFreed({ page, session }: Tab, { result }: RunnerTestCase): Promise<boolean> {
  const context = page.context();
  if (result?.state === 'fail' || page.isClosed()) return false;
  for (const other of context.pages()) if (other !== page) await other.close();
  await session.send('Emulation.setScriptExecutionDisabled', { value: true });
  await context.clearCookies();
  await context.clearPermissions();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  // Out of the page, so that nothing is hovered over in the next one.
  await page.mouse.move(-1, -1);
  return true;
}

// Playwright's handler ends the browser.
exitOnTerm();
