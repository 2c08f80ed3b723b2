import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { startDemo } from '../support/demo.ts';
import { openPage } from '../support/page.ts';

/** What a screen reader says at the focus: the element and its text. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const { activeElement: at } = document;
    return `${at?.tagName.toLowerCase()} ${at?.textContent.trim()}`;
  });

const go = (page: Page, hash: string) => page.evaluate((to) => void (location.hash = to), hash);

async function openOverview() {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  await page.getByRole('heading', { level: 1, name: 'Serving from your GPUs' }).waitFor();
  return { demo, page };
}

test('the focus goes to the heading of a new page, however it was opened', async () => {
  const { page } = await openOverview();
  expect(await focused(page)).toMatch(/^body/);
  await page.getByRole('link', { name: 'Requests', exact: true }).focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => focused(page)).toBe('h1 Requests');
  await go(page, '#/history');
  await expect.poll(() => focused(page)).toBe('h1 History');
  await go(page, '#/models');
  await expect.poll(() => focused(page)).toBe('h1 Models');
  await page.goBack();
  await expect.poll(() => focused(page)).toBe('h1 History');
  await go(page, '#/');
  await page.getByRole('link', { name: 'All requests' }).first().focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => focused(page)).toBe('h1 Requests');
  const heading = page.getByRole('heading', { level: 1 });
  expect(await heading.evaluate((it) => getComputedStyle(it).outlineStyle)).toBe('none');
});

test('the Tab key goes from the heading into the page, and the address of “Try it” focuses its prompt', async () => {
  const { page } = await openOverview();
  await go(page, '#/requests');
  await expect.poll(() => focused(page)).toBe('h1 Requests');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
  await go(page, '#/try');
  await page.waitForFunction(() => document.activeElement?.matches('.try-it input'));
});

test('a filter keeps the focus, and so does the row whose details are closed', async () => {
  const { demo, page } = await openOverview();
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] });
  const headers = { 'content-type': 'application/json' };
  await (await fetch(`${demo.baseUrl}/chat/completions`, { method: 'POST', headers, body })).text();
  await go(page, '#/requests');
  const filter = page.getByRole('link', { name: /^Not answered/ }).first();
  await filter.focus();
  await page.keyboard.press('Enter');
  expect(await filter.evaluate((it) => it === document.activeElement)).toBe(true);
  await go(page, '#/');
  const row = page.locator('.request').first();
  await row.focus();
  const id = await row.getAttribute('data-id');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const at = () => page.evaluate(() => document.activeElement?.getAttribute('data-id'));
  await expect.poll(at).toBe(id);
  await page.getByRole('heading', { level: 1, name: /^Serving from your GPUs/ }).waitFor();
});
