import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { axeViolations } from '../support/browser.ts';
import { temporaryDirectory } from '../support/gateway.ts';
import { openPage, turnTo } from '../support/page.ts';
import { NO_AGENT, startWindowHost } from '../support/window-host.ts';

const KEY = 'a-key-of-my-own-0123456789';

/** A gateway with the window, in a directory that may have been another run's. */
async function start(dataDirectory: string, settings: Record<string, string> = {}, port = '0') {
  const env = { ...NO_AGENT, INGLENOOK_PORT: port, ...settings };
  const host = await startWindowHost(env, dataDirectory);
  return { host, url: new URL(host.controlLink()).origin };
}

async function settingsOf(page: Page): Promise<void> {
  await turnTo(page, '#/settings');
  await page.getByRole('heading', { name: 'About and access' }).waitFor();
}

const about = (page: Page) => page.getByRole('region', { name: 'About and access' });

const shownLog = (page: Page) =>
  page.getByRole('textbox', { name: 'End of the log' }).or(page.getByText(/logs to the console/));

const unlocked = (page: Page) =>
  page.getByText('This page is read-only').waitFor({ state: 'detached' });

test('a signed-in tab signs in others, at either name of loopback, by one click and outlasts a restart, as a remembered browser does until it is forgotten', async () => {
  const directory = temporaryDirectory();
  const first = await start(directory);
  const page = await openPage(first.host.controlLink());
  await settingsOf(page);
  await page.getByText(directory).waitFor();
  const other = await page.context().newPage();
  // Its code was damaged.
  await other.goto(`${first.url}/#code=%`);
  await other.getByText('This link has already been used').waitFor();
  expect(other.url()).toBe(`${first.url}/`);
  await turnTo(other, '#/settings');
  await other.getByText('This page is read-only').first().waitFor();
  await other.getByRole('button', { name: 'Sign in' }).click();
  await unlocked(other);
  await other.close();
  const named = await page.context().newPage();
  await named.goto(`http://localhost:${new URL(first.url).port}/#/settings`);
  await named.getByRole('button', { name: 'Sign in' }).click();
  await unlocked(named);
  expect(named.url()).toBe(`${first.url}/#/settings`);
  await named.close();
  const stranger = await openPage(`${first.url}/#/models`);
  await stranger.getByRole('button', { name: 'Sign in' }).click();
  await stranger.getByText(/read-only. No other tab is signed in. Run “.+ open”/).waitFor();
  expect(new URL(stranger.url()).hash).toBe('#/models');
  // A link that is pasted into a tab of the same page loads nothing.
  await stranger.goto(`${first.url}/#code=used`);
  await stranger.getByText('This link has already been used').waitFor();
  await stranger.goto(first.host.controlLink());
  await unlocked(stranger);

  await page.getByRole('button', { name: 'Remember this browser' }).click();
  await page.getByRole('button', { name: 'Forget Chrome on Linux' }).waitFor();
  await page.getByRole('button', { name: 'Show the log' }).click();
  await shownLog(page).waitFor();
  expect(await axeViolations(page, about(page))).toEqual([]);
  const field = page.locator('fieldset.settings input:visible').first();
  await field.fill('slow');
  await first.host.stop(0);
  await page.locator('.banner').waitFor();
  expect(await field.evaluate((it) => it === document.activeElement)).toBe(true);
  expect(await page.title()).toMatch(/^Gateway not reachable\./);
  await start(directory, {}, new URL(first.url).port);
  await page.locator('.banner').waitFor({ state: 'detached' });
  await unlocked(page);
  expect(await page.getByText('This page is read-only').count()).toBe(0);
  await page.evaluate(() => sessionStorage.clear());
  const again = await page.context().newPage();
  await again.goto(`${first.url}/#/settings`);
  await again.getByRole('button', { name: 'Forget Chrome on Linux' }).click();
  await again.getByText('This page is read-only').first().waitFor();
});

test('the dashboard shows the log, how to reach it by SSH, and an archive for a report without secrets', async () => {
  const directory = temporaryDirectory();
  const secret = 'sk-of-the-upstream-1234567890';
  const { host, url } = await start(directory, {
    INGLENOOK_HOSTED_A_BASE_URL: 'http://127.0.0.1:1',
    INGLENOOK_HOSTED_A_API_KEY: secret,
  });
  const page = await openPage(host.controlLink());
  await settingsOf(page);
  const { port } = new URL(url);
  await page.getByText(`ssh -N -L ${port}:127.0.0.1:${port} user@this-machine`).waitFor();
  await page.getByRole('button', { name: 'Show the log' }).click();
  await shownLog(page).waitFor();
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download diagnostics' }).click();
  const text = await readFile(await (await downloading).path(), 'utf8');
  const parts = JSON.parse(text) as Readonly<Record<string, unknown>>;
  expect(Object.keys(parts)).toEqual(['about', 'status', 'settings', 'agent', 'providers', 'log']);
  expect(JSON.stringify(parts['settings'])).toContain('http://127.0.0.1:1');
  expect(text).not.toContain(secret);
});

test('the locked page opens with a key, and says when a key is wrong', async () => {
  const { url } = await start(temporaryDirectory(), { INGLENOOK_API_KEYS: KEY });
  const page = await openPage(url);
  const field = page.getByLabel('API key');
  await field.fill('wrong');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText('The gateway does not accept this key.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await field.fill(KEY);
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('link', { name: 'Requests' }).waitFor();
});
