import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { StatusReport } from '#shared/status.ts';
import { askDemo as ask, startDemo, type RunningDemo } from '../support/demo.ts';
import { openPage } from '../support/page.ts';
import { axeViolations } from '../support/browser.ts';

async function statusOf(demo: RunningDemo): Promise<StatusReport> {
  const response = await fetch(new URL('/api/v1/status', demo.baseUrl));
  return (await response.json()) as StatusReport;
}

const station = (page: Page, name: string) =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) });

const section = (page: Page, name: string) => page.getByRole('form', { name, exact: true });

const openSettings = (page: Page, hash: string) =>
  page.evaluate((next) => void (location.hash = next), hash);

test('a rented GPU starts at once, and a source that is paused counts down until its button ends the pause', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  const last = station(page, 'Rented GPU');
  await page.getByLabel('Start Rented GPU when your GPUs fail').uncheck();
  await page.getByText('It starts only when a request reaches it.').waitFor();
  expect((await statusOf(demo)).config.description).toMatch(/warm-up of ondemand is switched off/);
  await demo.break('ondemand', '500');
  await last.getByRole('button', { name: /Start now/ }).click();
  await last.getByText('starting', { exact: true }).waitFor();
  expect(await last.getByRole('button', { name: /Start now/ }).count()).toBe(0);

  await demo.break('local');
  await Promise.all([1, 2, 3, 4, 5].map(() => ask(demo)));
  expect(await ask(demo)).toBe('hosted_a: local=circuit_open');
  const local = station(page, 'Your GPUs');
  await local.getByText(/tried again in (1 min 00|\d+) s/).waitFor();
  const retry = local.getByRole('button', { name: 'Try again now Your GPUs' });
  await retry.click();
  await retry.waitFor({ state: 'detached' });
  const heading = local.getByRole('heading');
  expect(await heading.evaluate((it) => it === document.activeElement)).toBe(true);
  await demo.heal('local');
  expect(await ask(demo)).toBe('local: none');
  await local.getByText('serving').waitFor();
});

test('a setting outlasts a visit to another tab, is in force once saved, and if refused is explained at its field', async () => {
  const demo = await startDemo();
  const page = await openPage(demo.link);
  await page.getByRole('link', { name: 'Settings' }).click();
  await openSettings(page, '#/settings/hosted_a');
  await section(page, 'Service A').getByLabel('Name').fill('Groq');
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('heading', { name: 'Try it' }).waitFor();
  await page.goBack();
  await section(page, 'Service A').getByRole('button', { name: 'Save' }).click();
  await section(page, 'Groq').getByText('Saved and applied').waitFor();
  expect((await statusOf(demo)).upstreams[1]?.label).toBe('Groq');
  await page.reload();
  const form = section(page, 'Groq');
  expect(await form.getByLabel('Name').inputValue()).toBe('Groq');
  await form.getByRole('button', { name: /Remove\W+Name/ }).click();
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved and applied').waitFor();
  expect((await statusOf(demo)).upstreams[1]?.label).toMatch(/^127\.0\.0\.1:/);

  await openSettings(page, '#/settings/local');
  const timeout = section(page, 'Your GPUs').getByLabel('First-token timeout');
  await section(page, 'Your GPUs').getByText('More').click();
  await timeout.fill('soon');
  await timeout.press('Enter');
  await page.getByText('“First-token timeout” must be a whole number').waitFor();
  expect(await timeout.getAttribute('aria-invalid')).toBe('true');
  expect(await timeout.evaluate((it) => it === document.activeElement)).toBe(true);
  const note = page.locator(`[id="${await timeout.getAttribute('aria-describedby')}"]`);
  expect(await note.innerText()).toMatch(/whole number/);
  expect((await statusOf(demo)).config.timeouts.local).toBe(60_000);
  expect(await axeViolations(page, section(page, 'Your GPUs'))).toEqual([]);
  await timeout.fill('45000');
  await timeout.press('Enter');
  await section(page, 'Your GPUs').getByText('Saved and applied').waitFor();
  expect((await statusOf(demo)).config.timeouts.local).toBe(45_000);
});
