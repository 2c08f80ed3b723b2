import { expect, test } from 'vitest';
import { axeViolations } from '../support/browser.ts';
import { startDemo } from '../support/demo.ts';
import { openPage } from '../support/page.ts';

test('the palette (Ctrl+K) finds a page, a setting and an action, by keys alone', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  await page.locator('.upstream-card').first().waitFor();
  const query = page.getByRole('textbox', { name: 'Search', exact: true });
  const chosen = page.locator('.palette [data-chosen]');

  await page.keyboard.press('Control+k');
  expect(await query.evaluate((field) => field === document.activeElement)).toBe(true);
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.type('hist');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'History' }).waitFor();
  expect(await query.count()).toBe(0);

  // From a field as well.
  await page.keyboard.press('2');
  await page.getByLabel('Message', { exact: true }).first().focus();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('timeout hosted b');
  await chosen.getByText('Hosted B').waitFor();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement?.id === 'hosted_b.timeoutMs');

  await page.keyboard.press('Control+k');
  await page.keyboard.type('test local');
  await page.keyboard.press('Enter');
  await page
    .locator('.palette-said')
    .getByText(/^Works\./)
    .waitFor();
  await page.keyboard.press('Escape');
  await query.waitFor({ state: 'detached' });
});

test('the palette says when nothing matches, and its arrow keys wrap around', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  await page.getByRole('button', { name: /^Search/ }).click();
  const options = page.locator('.palette button');
  const texts = await options.allInnerTexts();
  await page.keyboard.press('ArrowUp');
  const chosen = page.locator('.palette [data-chosen]');
  expect(await chosen.innerText()).toBe(texts.at(-1));
  await page.keyboard.press('ArrowDown');
  expect(await chosen.innerText()).toBe(texts[0]);
  await page.keyboard.type('no such thing');
  await page.getByText('Nothing matches.').waitFor();
});
