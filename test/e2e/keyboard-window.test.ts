import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { askDemo, startDemo } from '../support/demo.ts';
import { openPage, turnTo } from '../support/page.ts';

/** What a screen reader says at the focus: the element and its text. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const { activeElement: at } = document;
    return `${at?.tagName.toLowerCase()} ${at?.textContent.trim()}`;
  });

const rowAt = (page: Page) =>
  page.evaluate(() => document.activeElement?.getAttribute('data-id') ?? null);

test('the keyboard skips the tabs by one link, shows what a state means, goes to the heading of each new page, and opens a request and returns to its row', async () => {
  const demo = await startDemo();
  for (let n = 0; n < 3; n += 1) await askDemo(demo);
  const page = await openPage(demo.link);
  await page.getByRole('heading', { level: 1, name: 'Serving from your GPUs' }).waitFor();
  expect(await focused(page)).toMatch(/^body/);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.evaluate(() => document.activeElement?.matches('main'))).toBe(true);

  const state = page.locator('.upstream-card .pill').first();
  const meaning = page.getByRole('tooltip').filter({ visible: true });
  expect(await meaning.count()).toBe(0);
  await state.focus();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Tab');
  expect(await meaning.innerText()).toMatch(/request|check/);
  await page.keyboard.press('Escape');
  expect(await meaning.count()).toBe(0);
  await state.hover();
  expect(await meaning.innerText()).toMatch(/request|check/);

  await page.getByRole('link', { name: 'Requests', exact: true }).focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => focused(page)).toBe('h1 Requests');
  await turnTo(page, '#/history');
  await expect.poll(() => focused(page)).toBe('h1 History');
  await turnTo(page, '#/models');
  await expect.poll(() => focused(page)).toBe('h1 Models');
  await page.goBack();
  await expect.poll(() => focused(page)).toBe('h1 History');
  await turnTo(page, '#/');
  await page.getByRole('link', { name: 'All requests' }).first().focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => focused(page)).toBe('h1 Requests');
  const heading = page.getByRole('heading', { level: 1 });
  expect(await heading.evaluate((it) => getComputedStyle(it).outlineStyle)).toBe('none');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
  await turnTo(page, '#/try');
  await page.waitForFunction(() => document.activeElement?.matches('.try-it input'));

  await turnTo(page, '#/requests');
  await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
  await page.locator('.request').nth(2).waitFor();
  const ids = await page
    .locator('.request')
    .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-id')));
  await page.locator('.request').first().focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  expect(page.url()).toContain(ids[1]);
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => page.url()).toContain(ids[2]);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });

  const filter = page.getByRole('link', { name: /^Not answered/ }).first();
  await filter.focus();
  await page.keyboard.press('Enter');
  expect(await filter.evaluate((it) => it === document.activeElement)).toBe(true);
  await turnTo(page, '#/');
  await page.locator('.request').first().focus();
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(() => rowAt(page)).toBe(ids[0]);
  await page.getByRole('heading', { level: 1, name: /^Serving from your GPUs/ }).waitFor();
});
