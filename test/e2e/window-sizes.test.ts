import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { axeViolations } from '../support/browser.ts';
import { startDemo, type RunningDemo } from '../support/demo.ts';
import { layoutFaults } from './layout.ts';
import { openPage } from '../support/page.ts';
import { showAt } from '../support/sights.ts';

const PAGES = ['#/', '#/providers', '#/requests', '#/models', '#/history', '#/settings/hosted_a'];

/** The last one is what a window of 1280 × 800 has at a zoom of 200 %. */
const SIZES = [
  [320, 640],
  [390, 844],
  [768, 900],
  [1280, 800],
  [640, 400],
] as const;

/** So that the list of requests has a row. */
async function ask({ baseUrl }: RunningDemo): Promise<void> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] }),
  });
  await response.text();
}

/** By how much the page is wider than its window, and how much of it what sticks to its top hides. */
function room(page: Page) {
  return page.evaluate(() => {
    const header = document.querySelector('.header')?.getBoundingClientRect();
    return {
      over: document.documentElement.scrollWidth - innerWidth,
      hidden: (header?.bottom ?? 0) / innerHeight,
    };
  });
}

test('each page fits each size, light and dark, with everything in reach, and axe finds nothing wrong', async () => {
  const demo = await startDemo();
  await demo.break('local');
  await ask(demo);
  const page = await openPage(demo.link);
  await page
    .getByText(/Your GPUs were unreachable/)
    .first()
    .waitFor();
  const schemes = ['light', 'dark'] as const;
  for (const [index, hash] of PAGES.entries()) {
    await page.evaluate((to) => void (location.hash = to), hash);
    await page.locator('h1').first().waitFor();
    for (const [turn, [width, height]] of SIZES.entries()) {
      // Colours move nothing: each size sees half of the pages in the dark, and each page half of the sizes.
      const colorScheme = schemes[(index + turn) % 2] ?? 'light';
      await showAt(page, { width, height, colorScheme });
      // Once in each scheme, on the narrowest and on a desktop.
      const violations = turn % 3 === 0 ? await axeViolations(page) : [];
      const { over, hidden } = await room(page);
      const { covered, collided } = await layoutFaults(page);
      const place = `${hash} at ${width} × ${height}, ${colorScheme}`;
      const found = { place, violations, covered, collided, over, isHidden: hidden > 0.3 };
      const fitting = { violations: [], covered: [], collided: [], over: 0, isHidden: false };
      expect.soft(found).toEqual({ place, ...fitting });
    }
  }
});

test('one link skips the tabs', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  await page.locator('h1').first().waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.evaluate(() => document.activeElement?.matches('main'))).toBe(true);
});

test('a state says what it means on focus and on hover, and Escape takes it away', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  const state = page.locator('.upstream-card .pill').first();
  const meaning = page.getByRole('tooltip').filter({ visible: true });
  await state.waitFor();
  expect(await meaning.count()).toBe(0);
  await page.getByRole('link', { name: 'Overview' }).focus();
  await state.focus();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Tab');
  expect(await meaning.innerText()).toMatch(/request|check/);
  await page.keyboard.press('Escape');
  expect(await meaning.count()).toBe(0);
  await state.hover();
  expect(await meaning.innerText()).toMatch(/request|check/);
});
