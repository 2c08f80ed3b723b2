import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { axeViolations } from '../support/browser.ts';
import { type RunningDemo, startDemo } from '../support/demo.ts';
import { openPage, turnTo } from '../support/page.ts';
import { showAt } from '../support/sights.ts';
import { layoutFaults } from './layout.ts';

const headline = (page: Page) => page.getByRole('heading', { level: 1 });

async function openDemo(): Promise<{ demo: RunningDemo; page: Page }> {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  await expect.poll(() => headline(page).innerText()).toBe('Serving from your GPUs');
  return { demo, page };
}

test('the link of the demo signs its reader in in every tab and works again, and others learn of it', async () => {
  const { demo, page } = await openDemo();
  const second = await page.context().newPage();
  await second.goto(new URL(demo.link).origin);
  const elsewhere = await openPage(demo.link);
  for (const each of [page, second, elsewhere]) {
    await each.getByLabel('Your GPUs: Simulate').waitFor();
    expect(await each.getByLabel('Your GPUs: Simulate').isEnabled()).toBe(true);
    expect(await each.getByText(/read-only|not signed in/).count()).toBe(0);
    expect(new URL(each.url()).hash).not.toContain('code');
  }
  const stranger = await openPage(new URL(demo.link).origin);
  await stranger.getByRole('button', { name: 'Sign in' }).click();
  await stranger.getByText('Open the link that the demo has printed').waitFor();
  expect(await stranger.getByLabel('Your GPUs: Simulate').isDisabled()).toBe(true);
});

test('the demo’s steps break and heal, it sends requests of its own until told to stop, and a page begins at its top', async () => {
  const { demo, page } = await openDemo();
  const steps = page.getByRole('region', { name: 'Demo' });
  const rows = page.locator('.request-row, .request-list li');
  await steps.getByLabel('Send a request every second').check();
  await page.getByRole('heading', { name: 'Latest requests' }).waitFor();
  const pressed = steps.getByRole('button', { pressed: true });
  await steps.getByText('Begin with step 1.').waitFor();
  expect(await pressed.count()).toBe(0);
  await steps.getByRole('button', { name: '1 Break your GPUs' }).click();
  await expect
    .poll(() => headline(page).innerText())
    .toBe('Serving from Service A. Your GPUs are down.');
  expect(await pressed.allInnerTexts()).toEqual(['1 Break your GPUs']);
  await expect.poll(() => rows.filter({ hasText: 'Service A' }).count()).toBeGreaterThan(0);
  expect(await axeViolations(page)).toEqual([]);
  await steps.getByRole('button', { name: '3 See a stream continued' }).click();
  await expect.poll(() => rows.filter({ hasText: /continued|resumed/ }).count()).toBeGreaterThan(0);
  await steps.getByRole('button', { name: '4 Heal all' }).click();
  await expect.poll(() => pressed.allInnerTexts()).toEqual(['4 Heal all']);
  await expect.poll(() => headline(page).innerText()).toBe('Serving from your GPUs');
  demo.stopTraffic();
  await expect.poll(() => steps.getByLabel('Send a request every second').isChecked()).toBe(false);

  await showAt(page, { width: 320 });
  expect(await layoutFaults(page)).toEqual({ covered: [], collided: [], over: 0 });

  // A page begins at its top, and Back returns to where it was left.
  await page.setViewportSize({ width: 390, height: 500 });
  await page.evaluate(() => scrollTo(0, 400));
  await expect.poll(() => page.evaluate(() => scrollY)).toBe(400);
  // As a link does; a click on one would scroll to it first.
  await turnTo(page, '#/settings');
  await page.locator('fieldset.settings').first().waitFor();
  expect(await page.evaluate(() => scrollY)).toBe(0);
  await page.goBack();
  await headline(page).waitFor();
  await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(200);
  await page.goForward();
  await page.locator('fieldset.settings').first().waitFor();
  await expect.poll(() => page.evaluate(() => scrollY)).toBe(0);
});
