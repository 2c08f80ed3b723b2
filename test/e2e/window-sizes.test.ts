import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { axeViolations } from '../support/browser.ts';
import { startDemo } from '../support/demo.ts';
import { openPage } from '../support/page.ts';

const PAGES = ['#/', '#/chat', '#/providers', '#/requests', '#/history', '#/settings/hosted_a'];

/** The last one is what a window of 1280 × 800 has at a zoom of 200 %. */
const SIZES = [
  [320, 640],
  [390, 844],
  [1280, 800],
  [640, 400],
] as const;

const CASES = SIZES.flatMap(([width, height]) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ width, height, colorScheme })),
);

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

test.each(CASES)(
  'at $width × $height, $colorScheme, each page fits its width and axe finds nothing wrong',
  async ({ width, height, colorScheme }) => {
    const demo = await startDemo();
    const page = await openPage(demo.link, { viewport: { width, height }, colorScheme });
    for (const hash of PAGES) {
      await page.evaluate((to) => void (location.hash = to), hash);
      await page.locator('h1').first().waitFor();
      const violations = await axeViolations(page);
      const { over, hidden } = await room(page);
      expect({ hash, violations, over, isHidden: hidden > 0.3 }).toEqual({
        hash,
        violations: [],
        over: 0,
        isHidden: false,
      });
    }
  },
);

test('each page has its number as a key, the question mark lists them, and one link skips the tabs', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  await page.locator('.station').first().waitFor();
  const names = await page
    .getByRole('navigation', { name: 'Pages' })
    .getByRole('link')
    .allInnerTexts();
  expect(names).toHaveLength(6);
  for (const [index, name] of names.entries()) {
    await page.keyboard.press('?');
    const sheet = page.getByRole('dialog', { name: 'Keyboard' });
    await sheet.getByText(name, { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await page.keyboard.press(String(index + 1));
    await page
      .getByRole('link', { name, exact: true })
      .and(page.locator('[aria-current]'))
      .waitFor();
    // The chat's field has the focus, and takes the keys.
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  }
  await page.reload();
  await page.locator('h1').first().waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement?.matches('main'));
});

test('a state says what it means on focus and on hover, and Escape takes it away', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  const state = page.locator('.station .pill').first();
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
